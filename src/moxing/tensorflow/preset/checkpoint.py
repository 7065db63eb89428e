"""What a preset model takes of the checkpoint it begins from."""

import re

import tensorflow.compat.v1 as tf

import moxing.tensorflow as mox
from moxing.tensorflow.executor.restoring import checkpoints
from moxing.tensorflow.preset.arguments import Asked

_STEP = "global_step"
_EXCLUDED = "checkpoint_exclude_patterns"
_BIAS = re.compile(r"/bias(es)?$")


def begin_from(asked: Asked, num_classes: int) -> frozenset[str]:
    """Set what is left out of ``checkpoint_url``; return the names of its variables.

    Training counts its steps from 0, and a classifier of other classes is not taken. Who gives
    ``checkpoint_exclude_patterns`` decides alone. A training that goes on in ``train_url`` has a
    checkpoint of its own: nothing is begun.

    Raises:
        ValueError: there is no checkpoint.
    """
    place = asked.checkpoint_url
    if not place or (not asked.evaluates and checkpoints(asked.train_url)):
        return frozenset()
    found = checkpoints(place)
    if not found:
        raise ValueError(
            f"There is no checkpoint at --checkpoint_url={place}: give the folder of a training, "
            "or a name such as …/model.ckpt-1000."
        )
    shapes = tf.train.load_checkpoint(found[0]).get_variable_to_shape_map()
    if not asked.evaluates and not mox.get_flag(_EXCLUDED):
        _leave_out(asked.name, found[0], shapes, num_classes)
    return frozenset(shapes)


def _leave_out(name: str, prefix: str, shapes: dict[str, list[int]], num_classes: int) -> None:
    patterns = mox.get_model_meta(name).default_logits_pattern
    ends = [
        shape[-1]
        for variable, shape in shapes.items()
        if _BIAS.search(variable) and any(re.search(p, variable) for p in patterns.split(","))
    ]
    others = sorted({end for end in ends if end != num_classes})
    excluded = _STEP
    if others:
        excluded = f"{_STEP},{patterns}"
        tf.logging.info(
            "%s was trained for %d classes and there are %d: its classifier (%s) begins anew.",
            *(prefix, others[0], num_classes, patterns),
        )
    mox.set_flag(_EXCLUDED, excluded)
