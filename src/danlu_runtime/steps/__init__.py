"""Counts the training steps of any TF1 loop: for progress, and to end it after ``DANLU_MAX_STEPS``.

A *step* is a session run that changes the global step. Where no run does, it is a run of the
training operation that has run most often: a GAN that trains two networks in turn counts rounds.
What trains is read from the graph: whatever applies a gradient to a variable, and, in graphs
without an optimizer, whatever writes a trainable variable from its own value. Evaluation,
initialisation and restoring are no steps. All graphs of a process count together. A run of a
fused loop (danlu_runtime.fused) is as many steps as it was asked for; who makes such runs asks
``allowance`` how many may still be made.

With ``DANLU_MAX_STEPS=N`` nothing trains any more after N steps, and the code after the loop
shall still run: the last save, the export, the test. So loops are ended in their own way:

- who asks ``should_stop()`` (Coordinator, Supervisor, MonitoredSession, and with them Estimator
  and slim) is told True, in the thread that trains only: queues go on being filled;
- a loop that catches ``OutOfRangeError`` around its run gets one, as at the end of its data;
- Keras ends after the epoch it is in, with its validation;
- any other loop goes on by itself: the run of a training operation is left out and gives its last
  results, with a global step that goes on growing. Ten thousand such runs take a moment.
  Checkpoints are still named by the real step, and summaries that repeat are not written.

A loop that still goes on after ``loop.PATIENCE`` seconds or ``loop.RUNS`` runs left out has no end
of its own: the program is ended with exit code 0, and a line says so. An operation that has not
run when the limit is reached runs once: its results are not known before.

Nothing here may break a script: trouble of ours is told once, and the counting ends.
"""

import os

_installed = False


def install(tf: object = None) -> None:
    """Watch every session of this process, where a limit is set or progress is asked for."""
    global _installed
    limit, box = _limit(os.environ.get("DANLU_MAX_STEPS", "")), os.environ.get("DANLU_BOX", "")
    if _installed or not (limit or box):
        return
    _installed = True
    from danlu_runtime.steps import ends, watch

    watch.start(limit, box)
    ends.install()


def allowance() -> int | None:
    """Return how many steps may still be made under ``DANLU_MAX_STEPS``; None: any number."""
    if not _installed:
        return None
    from danlu_runtime.steps import watch

    current = watch.current()
    return None if current is None else current.counter.left


def _limit(text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise SystemExit(f"DANLU_MAX_STEPS: must be a number of steps from 1 on, got {text!r}.")
    return int(text)
