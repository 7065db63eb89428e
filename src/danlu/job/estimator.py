"""The parameters of a training that the platform itself drives: defaults, checks, layers.

ModelMaker names them; their values are those of TensorFlow's Estimator, but for a last step.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

STEPS, SECONDS = "save_checkpoints_steps", "save_checkpoints_secs"

DEFAULTS: Mapping[str, Any] = {
    STEPS: None,
    SECONDS: 600,
    "keep_checkpoint_max": 5,
    "log_step_count_steps": 100,
    "train_max_steps": 10_000,  # over all cards of all machines
    "eval_steps": 100,
    "eval_start_delay_secs": 120,
    "eval_throttle_secs": 600,
}


@dataclass(frozen=True)
class _Rule:
    least: int
    none: str = ""  # what None means; empty: it cannot be
    whole: bool = True


_RULES = {
    STEPS: _Rule(1, "by time"),
    SECONDS: _Rule(1, "by steps, or no checkpoints"),
    "keep_checkpoint_max": _Rule(0, "all"),
    "log_step_count_steps": _Rule(1),
    "train_max_steps": _Rule(1, "until the data ends"),
    "eval_steps": _Rule(1, "all of the data"),
    "eval_start_delay_secs": _Rule(0, whole=False),
    "eval_throttle_secs": _Rule(0, whole=False),
}


def faults(layer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return parameter and sentence for each value that cannot be; others may be anything."""
    found = [
        (name, sentence)
        for name, rule in _RULES.items()
        if name in layer and (sentence := _fault(rule, layer[name]))
    ]
    if layer.get(STEPS) is not None and layer.get(SECONDS) is not None:
        found.append((SECONDS, f"cannot be set together with {STEPS}: leave one of them out."))
    return found


def put_together(layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the defaults with each layer on top of those before it.

    Checkpoints are kept by steps or by time: who sets one of the two takes the other back.
    """
    together = dict(DEFAULTS)
    for layer in layers:
        for name, other in ((STEPS, SECONDS), (SECONDS, STEPS)):
            if layer.get(name) is not None and other not in layer:
                together[other] = None
        together.update(layer)
    return together


def _fault(rule: _Rule, value: Any) -> str:
    if value is None and rule.none:
        return ""
    kinds = (int,) if rule.whole else (int, float)
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if is_number and rule.least <= value < math.inf:
        return ""
    number = "a whole number" if rule.whole else "a number"
    none = f", or None ({rule.none})" if rule.none else ""
    return f"must be {number} of at least {rule.least}{none}, got {value!r}."
