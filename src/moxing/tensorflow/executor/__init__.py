"""``mox.run`` and the words it is told with. A name is looked for when it is used."""

import importlib
from typing import Any

_HOMES = {
    "mox_run": ("run",),
    "spec": ("ModelSpec", "ExportSpec", "InputSpec"),
    "modes": ("ModeKeys", "ModeKey", "ExportKeys"),
    "hooks": (
        *("AggregativeSessionRunHook", "FeedSessionRunHook", "LogEvaluationMetricHook"),
        *("EarlyStoppingHook", "PlateauLREarlyStoppingHook"),
    ),
    "model_collections": ("get_collection",),
    "flags": ("get_flag", "set_flag"),
    "forced_types": ("var_scope",),
    "local_cache": ("cache",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in ("hooks", "ops_adapter"):  # modules scripts import; the others are ours
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
