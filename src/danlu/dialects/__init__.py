"""The request formats of the services, by name. Modules are imported on first use.

Add a dialect to ``BUILT_IN``, or install one under the entry-point group ``danlu.dialects``.

``api``: the interface of a dialect: read, roles and command.
``modelarts``, ``dls``, ``kdl``, ``ti``, ``modelmaker``: the five services.
``form``, ``huawei``: read fields and collect faults; what ModelArts and DLS share.
``options``: which options of ``danlu run`` each service accepts.
``planning``: builds the tasks of a job from its places.
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
# ENTRY of each dialect, for callers that need nothing else: a dialect imports the job model.
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
        raise Unsupported.from_key("dialect.not_supported", name=name, built_in=", ".join(BUILT_IN))
    raise NotFound("dialect", name, known={*BUILT_IN, *PROMISED, *installed})


def entry_field(name: str) -> str:
    """Return the field of a dialect that names the program to start.

    Raises:
        NotFound, Unsupported
    """
    return _ENTRIES.get(name) or str(getattr(get(name), "ENTRY", "boot_file"))
