"""Which layout a network is really built in: a CPU does not know NCHW everywhere."""

import functools
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.modes import ModeKeys

_said: set[str] = set()


def layout(asked: str, mode: str, dtype: Any) -> str:
    """Return the layout asked for where it works, else NHWC, said once for each reason.

    Variables are the same in both. An exported model is served who knows where: it is NHWC
    always (manual, pitfall 4-4-2).
    """
    reason = _why_not(mode, dtype) if asked == "NCHW" else ""
    if not reason:
        return asked
    if reason not in _said:
        _said.add(reason)
        tf.logging.warning("data_format NCHW: the network is built in NHWC; %s.", reason)
    return "NHWC"


def _why_not(mode: str, dtype: Any) -> str:
    if mode == ModeKeys.EXPORT:
        return "an exported model must run on a CPU too"
    if _has_gpu():
        return ""
    if dtype not in (tf.float32, tf.bfloat16):
        return f"there is no GPU, and a CPU cannot compute {dtype.name} in NCHW"
    if not _has_onednn():
        return "there is no GPU, and TensorFlow runs without oneDNN (TF_ENABLE_ONEDNN_OPTS=0)"
    return ""


@functools.cache
def _has_gpu() -> bool:
    return bool(tf.config.list_physical_devices("GPU"))


def _has_onednn() -> bool:
    from tensorflow.python.util import _pywrap_util_port

    return bool(_pywrap_util_port.IsMklEnabled())
