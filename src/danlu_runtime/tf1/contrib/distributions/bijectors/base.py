"""The base of bijectors, which TensorFlow 2.21 still has, without what its optimizer breaks.

The graph optimizer of TensorFlow 2.21 takes ``-reduce_sum(-x, axis=[])`` for ``-x``. The base class
builds just that when there is nothing to sum over, and the sign of a determinant was lost.
"""

from typing import Any

from tensorflow.python.ops.distributions.bijector_impl import Bijector

_summed = Bijector._reduce_jacobian_det_over_event


def _reduce(self: Any, y: Any, ildj: Any, min_event_ndims: int, event_ndims: Any) -> Any:
    if isinstance(event_ndims, int) and event_ndims == min_event_ndims:
        return ildj
    return _summed(self, y, ildj, min_event_ndims, event_ndims)


Bijector._reduce_jacobian_det_over_event = _reduce

__all__ = ["Bijector"]
