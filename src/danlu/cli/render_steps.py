"""How far a training is, or since when nothing of it moves, in one line."""

from collections.abc import Mapping
from typing import Any

from danlu.cli.units import clock, duration
from danlu.words import language, say


def steps_text(view: Mapping[str, Any], *, living: bool = True) -> str:
    """Return 'step 1,200/5,000 · 35.2/s · 1 min 48 s left' of a job's view; "" without steps.

    Of a job that has ended only the step is told.
    """
    steps = view.get("steps")
    if not steps:
        return ""
    step, total, rate = steps["step"], steps["total"], steps["rate"]
    if total:
        parts = [say("steps.of", step=f"{step:,}", total=f"{total:,}")]
    else:
        parts = [say("steps.step", step=f"{step:,}")]
    if living and rate > 0:
        parts.append(say("steps.rate", rate=f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"))
        if total and total > step:
            parts.append(say("steps.left", time=duration((total - step) / rate)))
    return " · ".join(parts)


def still_text(view: Mapping[str, Any], now: float) -> str:
    """Return how long nothing of a job has moved; "" while something does."""
    hang = view.get("hang")
    return say("hang.for", time=duration(now - hang["since"])) if hang else ""


def hang_text(view: Mapping[str, Any], now: float) -> str:
    """Return the same with the moment, what it may mean and how to end it."""
    hang = view.get("hang")
    if not hang:
        return ""
    still, sentence = still_text(view, now), hang[language()]
    return say("hang.since", still=still, clock=clock(hang["since"]), sentence=sentence)
