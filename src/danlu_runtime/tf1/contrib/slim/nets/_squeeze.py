"""``spatial_squeeze`` of the residual networks.

The networks of tf.contrib.slim give logits of ``[batch, 1, 1, classes]`` and did not take this
argument in 1.15; those of the model repository of that time do, and scripts pass it to both.
"""

import functools
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

Net = Callable[..., tuple[tf.Tensor, dict[str, tf.Tensor]]]


def accepting_spatial_squeeze(build: Net) -> Net:
    """Return the network with one argument more, ``spatial_squeeze``, off by default."""

    @functools.wraps(build)
    def built(
        *args: Any, spatial_squeeze: bool = False, **kwargs: Any
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        net, end_points = build(*args, **kwargs)
        # Without classes there are features, whose shape must not change.
        if not spatial_squeeze or "predictions" not in end_points:
            return net, end_points
        scope = _scope(end_points)
        squeezed = tf.squeeze(net, [1, 2], name=f"{scope}/SpatialSqueeze")
        end_points[f"{scope}/spatial_squeeze"] = squeezed
        end_points["predictions"] = tf.squeeze(end_points["predictions"], [1, 2])
        return squeezed, end_points

    return built


def _scope(end_points: dict[str, tf.Tensor]) -> str:
    logits = next(name for name in end_points if name.endswith("/logits"))
    return logits.removesuffix("/logits")
