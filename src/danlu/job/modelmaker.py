"""The parameters of a training that the platform itself runs: defaults, checks, merging.

The names are those of ModelMaker. The defaults are those of TensorFlow's Estimator, except for the
last step.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from danlu.messages import get_message

STEPS, SECONDS = "save_checkpoints_steps", "save_checkpoints_secs"

DEFAULTS: Mapping[str, Any] = {
    STEPS: None,
    SECONDS: 600,
    "keep_checkpoint_max": 5,
    "log_step_count_steps": 100,
    "train_max_steps": 10_000,  # over all GPUs of all machines
    "eval_steps": 100,
    "eval_start_delay_secs": 120,
    "eval_throttle_secs": 600,
}


@dataclass(frozen=True)
class _Rule:
    least: int
    none: str = ""  # meaning of None, a message key; empty: None is not allowed
    whole: bool = True


_RULES = {
    STEPS: _Rule(1, "none.by_time"),
    SECONDS: _Rule(1, "none.by_steps"),
    "keep_checkpoint_max": _Rule(0, "none.all"),
    "log_step_count_steps": _Rule(1),
    "train_max_steps": _Rule(1, "none.until_end"),
    "eval_steps": _Rule(1, "none.all_data"),
    "eval_start_delay_secs": _Rule(0, whole=False),
    "eval_throttle_secs": _Rule(0, whole=False),
}


def faults(layer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a pair of parameter and sentence for each invalid value.

    Parameters without a rule may have any value.
    """
    found = [
        (name, sentence)
        for name, rule in _RULES.items()
        if name in layer and (sentence := _fault(rule, layer[name]))
    ]
    if layer.get(STEPS) is not None and layer.get(SECONDS) is not None:
        found.append((SECONDS, get_message("fault.not_together", other=STEPS)))
    return found


def put_together(layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the defaults, overridden by each layer in order.

    Checkpoints are saved by steps or by time. A layer that sets one of the two clears the other.
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
    values = {
        "number": get_message("type.Integer" if rule.whole else "type.Float"),
        "least": rule.least,
        "value": value,
    }
    if rule.none:
        return get_message("fault.number_or_none", none=get_message(rule.none), **values)
    return get_message("fault.number", **values)
