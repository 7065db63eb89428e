"""Counts the training steps of any loop, for progress and for ``DANLU_MAX_STEPS``.

A *step* is a session run that changes the global step. If no run does, it is a run of the training
operation that has run most often: a GAN that trains two networks in turn counts rounds. Training
operations are found in the graph: those that apply a gradient to a variable and, in graphs without
an optimizer, those that write a trainable variable from its own value. Evaluation, initialisation
and restoring are no steps. All graphs of a process count together. A run of a fused loop
(danlu_runtime.fused) counts all its steps; its caller asks ``allowance`` how many are left.

With ``DANLU_MAX_STEPS=N`` training ends after N steps, and the code after the loop still runs:

- ``should_stop()`` (Coordinator, Supervisor, MonitoredSession, Estimator, slim) returns True in the
  training thread only, so that queues are still filled;
- a loop that catches ``OutOfRangeError`` around its run gets one, as at the end of its data;
- Keras ends after the current epoch, with its validation;
- any other loop continues, but training operations are skipped and return their last results,
  with a growing global step. Checkpoints keep the real step; repeated summaries are not written.

A loop that still runs after ``step_limit.LOOP_TIMEOUT`` seconds or ``step_limit.RUNS`` skipped runs
has no end of its own: the program exits with code 0 and a message. An operation that has not run
when the limit is reached runs once, because its results are not known before.

In TensorFlow 2 a step is a batch of Keras' ``fit`` or ``train_on_batch``, a call of an optimizer,
or an assignment after ``tape.gradient``; ``fit`` ends after the batch that reaches the limit. An
error in these modules is reported once and ends the counting; it never fails the script.

``session_monitor``, ``graph``: count session runs; find what a fetch trains.
``ends``, ``step_limit``: end a loop in its own way; skip runs past the limit.
``eager``, ``traced_loops``: TensorFlow 2; loops inside a ``tf.function``.
``progress``: writes the progress to the exchange directory.
"""

import os

from danlu.messages import get_message

_installed = False


def install(tf: object = None) -> None:
    """Monitor every session of this process if a limit is set or progress is reported."""
    global _installed
    limit, box = _limit(os.environ.get("DANLU_MAX_STEPS", "")), os.environ.get("DANLU_BOX", "")
    if _installed or not (limit or box):
        return
    _installed = True
    from danlu_runtime.steps import ends, session_monitor

    session_monitor.start(limit, box)
    ends.install()


def install_second() -> None:
    """Monitor TensorFlow 2 if a limit is set; its loops report no progress yet."""
    if _installed or not os.environ.get("DANLU_MAX_STEPS"):
        return
    install()
    from danlu_runtime.steps import eager, ends

    eager.install()
    ends.amend_now_or_later(eager.LATER)


def allowance() -> int | None:
    """Return the number of steps still allowed by ``DANLU_MAX_STEPS``, None for any."""
    if not _installed:
        return None
    from danlu_runtime.steps import session_monitor

    current = session_monitor.current()
    return None if current is None else current.counter.left


def _limit(text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise SystemExit(get_message("steps.bad_limit", text=text))
    return int(text)
