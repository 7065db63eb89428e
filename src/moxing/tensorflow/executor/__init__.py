"""``mox.run``, and the classes of its arguments. Names are imported on first use.

``mox_run``, ``request``, ``spec``: the call; its arguments; what ``model_fn`` returns.
``training_run``, ``evaluating``, ``export``: the modes of a run.
``model``, ``run_graph``, ``gradients``, ``precision``: clones, graph, training step, types.
``pipeline``: from ``input_fn`` to batches. ``cluster``: parameter servers and workers.
``session``, ``restoring``, ``loop``: session, checkpoint to start from, the loop over steps.
``hooks``, ``logs``, ``summaries``: hooks, log lines, TensorBoard.
``ops_adapter``, ``local_cache``: names that scripts import.
"""

import importlib
from typing import Any

_HOMES = {
    "mox_run": ("run",),
    "spec": ("ModelSpec", "ExportSpec", "InputSpec"),
    "request": ("ModeKeys", "ModeKey", "ExportKeys", "get_flag", "set_flag"),
    "hooks": (
        *("AggregativeSessionRunHook", "FeedSessionRunHook", "LogEvaluationMetricHook"),
        *("EarlyStoppingHook", "PlateauLREarlyStoppingHook"),
    ),
    "model": ("get_collection",),
    "precision": ("var_scope",),
    "local_cache": ("cache",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in ("hooks", "ops_adapter"):  # modules scripts import; the others are ours
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
