"""Functions of ``distutils.util``."""

import sysconfig

_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")


def strtobool(val: str) -> int:
    """Return 1 for a word that means yes, 0 for one that means no."""
    word = val.lower()
    if word not in (*_TRUE, *_FALSE):
        raise ValueError(f"invalid truth value {val!r}")
    return int(word in _TRUE)


def get_platform() -> str:
    return sysconfig.get_platform()
