"""``mox.get_flag`` and ``mox.set_flag``."""

import sys
from typing import Any

from moxing.tensorflow.utils.hyper_param_flags import mox_flags


def get_flag(name: str = "", *, flag_name: str = "") -> Any:
    """Return the value of a flag of MoXing; the documents call its name both ways.

    Raises:
        ValueError: there is no such flag, or its value is not one of its type.
    """
    return getattr(mox_flags, _known(name or flag_name))


def set_flag(name: str = "", value: Any = None, *, flag_name: str = "") -> None:
    """Set a flag of MoXing for the runs that follow; None gives it its default.

    Raises:
        ValueError: there is no such flag, or the value is not one of its type.
        RuntimeError: called by a function that ``mox.run`` has called.
    """
    known = _known(name or flag_name)
    if _inside_callback():
        raise RuntimeError(
            f"mox.set_flag({known!r}, …) is called too late: call it outside input_fn, model_fn "
            "and optimizer_fn, and before mox.run."
        )
    setattr(mox_flags, known, value)


def _known(name: str) -> str:
    if name not in mox_flags:
        raise ValueError(mox_flags.unknown(name))
    return name


def _inside_callback() -> bool:
    # Looked up, not imported: it needs TensorFlow, and no callback runs before it is there.
    callbacks = sys.modules.get("moxing.tensorflow.executor.callbacks")
    return callbacks is not None and callbacks.inside_callback()
