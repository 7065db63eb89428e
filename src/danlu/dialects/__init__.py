"""The dialects, by name. Modules are imported when asked for, not before.

Add a dialect here, or install one under the entry-point group ``danlu.dialects``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, cast

from danlu.errors import NotFound, Unsupported

if TYPE_CHECKING:
    from danlu.dialects.api import Dialect

BUILT_IN = {
    "dls": "danlu.dialects.dls",
    "kdl": "danlu.dialects.kdl",
    "modelarts": "danlu.dialects.modelarts",
    "modelmaker": "danlu.dialects.modelmaker",
    "ti": "danlu.dialects.ti",
}
PROMISED: tuple[str, ...] = ()
# ENTRY of each, for those who ask nothing else: a dialect brings the whole job model along.
_ENTRIES = {
    "dls": "boot_file",
    "kdl": "module",
    "modelarts": "boot_file",
    "modelmaker": "model_file",
    "ti": "entry_point",
}


def get(name: str) -> "Dialect":
    """Return a dialect, built in or installed.

    Raises:
        NotFound: there is none of this name.
        Unsupported: it is promised and not there yet.
    """
    if name in BUILT_IN:
        return cast("Dialect", import_module(BUILT_IN[name]))
    from importlib.metadata import entry_points

    installed = {point.name: point for point in entry_points(group="danlu.dialects")}
    if name in installed:
        return cast("Dialect", installed[name].load())
    if name in PROMISED:
        raise Unsupported(
            f"The dialect {name!r} is not there yet.",
            hint=f"A script that takes its paths as flags can run as: {', '.join(BUILT_IN)}.",
        )
    raise NotFound("dialect", name, known={*BUILT_IN, *PROMISED, *installed})


def entry_field(name: str) -> str:
    """Return the field in which a dialect is told what to start.

    Raises:
        NotFound, Unsupported
    """
    return _ENTRIES.get(name) or str(getattr(get(name), "ENTRY", "boot_file"))
