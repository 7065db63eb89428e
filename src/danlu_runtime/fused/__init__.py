"""Several steps of a graph that is already built, in one call of ``session.run``.

The operations of one step are copied into a loop of the same graph; the graph's own operations
are not touched. What holds state stays outside and is shared: variables, iterators, tables. So n
steps of the loop are n single steps, bit by bit, with fewer trips between Python and TensorFlow.

    fused = Fused(train_op, [loss])              # before the graph is finalized
    (loss,) = session.run(fused.values, fused.feed(10))

``why_not`` tells what stands against it. A seeded random operation keeps its place in its own
sequence, and its copy in the loop has another one: where ``fused.alone`` is true, make *all* steps
by the loop (``feed(1)`` is a single one), and the draws are those of single steps.

With ``xla=True`` K steps are one program of XLA, equal to single steps to five digits. It reads
ahead of the step it is in, so it is always ``alone``.
"""

from danlu_runtime.fused.loop import Fused
from danlu_runtime.fused.refusals import why_not

__all__ = ["Fused", "why_not"]
