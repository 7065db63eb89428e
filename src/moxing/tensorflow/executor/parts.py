"""What is done now and then while a run goes on: lines, checkpoints, summaries, outputs."""

from dataclasses import dataclass, field
from typing import Any

FAR = 1 << 62


@dataclass
class Moment:
    """Where a run is. ``step`` is the last one done, counted from 0; ``values`` are its own.

    ``session`` is the bare one: what runs on it passes no hook.
    """

    session: Any
    step: int
    global_step: int  # how many are done, by all workers
    values: dict[str, Any] = field(default_factory=dict)
    rows: Any = None  # the usual values of every step of the last call, where they are kept
    at: float = 0.0  # seconds of time.perf_counter: when the step was done
    stop: bool = False  # set by who wants the run to end


class Part:
    """One of them. Steps may be run many in one call: ``steps_alone`` says how many at most.

    ``late``: it needs no more than the usual values of a step, and may be told of it when others
    were made after it.
    """

    late = False

    def steps_alone(self, step: int) -> int:
        """Return how many steps from ``step`` on may be one call, whose last one is looked at."""
        return FAR

    def fetches(self, step: int) -> dict[str, Any]:
        """Return what must be fetched beside the usual values when ``step`` is run by itself."""
        return {}

    def begin(self, moment: Moment) -> None:
        """The session is there; ``moment.step`` is the last step of an earlier run, or -1."""

    def after(self, moment: Moment) -> None:
        """Steps were done."""

    def end(self, moment: Moment) -> None:
        """The run ends as it should."""

    def broken(self) -> None:
        """The run ends with an error."""


def until(step: int, period: int) -> int:
    """Return how many steps from ``step`` on lead to one that is a multiple of ``period``."""
    return (-step) % period + 1
