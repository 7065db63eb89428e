"""What scripts took from ``distutils.util``."""

import sysconfig

_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")


def strtobool(val: str) -> int:
    """Return 1 or 0 for a word that says yes or no."""
    word = val.lower()
    if word not in (*_TRUE, *_FALSE):
        raise ValueError(f"invalid truth value {val!r}")
    return int(word in _TRUE)


def get_platform() -> str:
    return sysconfig.get_platform()
