"""Whether many steps of a training are one call, and whether XLA compiles them."""

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.errors import Unsupported
from danlu_runtime.fused import Fused, choice, why_not
from danlu_runtime.fused.trail import can_be_kept
from moxing.tensorflow.executor.request import Request

_MOST = 400  # steps of one call: the lines of all of them come after it


class Sights:
    """Who looks at single steps. ``each``: at every one; ``inside``: at some, from inside."""

    def __init__(self, each: str = "", inside: str = "") -> None:
        self.each = each
        self.inside = inside


def many_steps(
    request: Request, op: Any, usual: Mapping[str, Any], sights: Sights, resumes: bool
) -> Fused | None:
    """Return what does many steps in one call where that gives the same as one by one.

    XLA is taken where it is asked for, or where the run that goes on began with it.
    """
    values = list(usual.values())
    xla = choice.chosen(request.log_dir or "", has_checkpoint=resumes)
    reason = sights.each or why_not(op, values) or ""
    made: Fused | None = None
    if xla:
        made, reason = _compiled(request, op, values, reason or sights.inside)
    if made is None and not (sights.each or why_not(op, values)):
        kept = can_be_kept(values)
        plain = Fused(op, values, steps=_MOST if kept else None, trail=kept)
        made = None if plain.alone and sights.inside else plain
    if xla and reason:
        leave_out_xla(request.log_dir, reason)
    elif request.log_dir:
        choice.keep(request.log_dir, xla)
    return made


def leave_out_xla(log_dir: str | None, reason: str) -> None:
    """Say why a training goes on without XLA, and remember it for those that go on from it."""
    tf.logging.warning("XLA is left out: %s.", reason.rstrip("."))
    if log_dir:
        choice.keep(log_dir, False)


def _compiled(
    request: Request, op: Any, values: list[Any], reason: str
) -> tuple[Fused | None, str]:
    """Return the compiled steps, or why there are none."""
    if reason:
        return None, reason
    kept = can_be_kept(values)
    most = _MOST if kept else min(request.log_every or _MOST, _MOST)
    try:
        return Fused(op, values, xla=True, steps=most, trail=kept), ""
    except Unsupported as error:
        return None, error.message
