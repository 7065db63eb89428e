"""Runs several steps of a graph that is already built in one call of ``session.run``.

The operations of one step are copied into a loop of the same graph. The graph's own operations are
not changed. State stays outside and is shared: variables, iterators, tables. So n steps of the
loop equal n single steps, bit by bit, with fewer calls from Python to TensorFlow.

    fused = Fused(train_op, [loss])              # before the graph is finalized
    (loss,) = session.run(fused.values, fused.feed(10))

``why_not`` returns the reason why a graph cannot be fused. A seeded random operation and its copy
in the loop have different sequences. If ``fused.alone`` is true, run *all* steps by the loop
(``feed(1)`` is a single step) to draw the same random numbers as single steps. With ``xla=True`` K
steps are one XLA program, equal to single steps to five digits, and always ``alone``.

``loop``: the class Fused. ``step_values``: the values of every step of a call.
``refusals``: what cannot be fused. ``estimator``: ``tf.estimator`` with fused steps.
``compiled``, ``reading``: steps compiled by XLA, and reading ahead for them.
"""

from danlu_runtime.fused.loop import Fused
from danlu_runtime.fused.refusals import why_not

__all__ = ["Fused", "why_not"]
