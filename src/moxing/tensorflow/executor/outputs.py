"""``output_fn``: the values of output_info, given to the user every so many steps."""

from collections.abc import Callable
from typing import Any

from moxing.tensorflow.executor.callbacks import call
from moxing.tensorflow.executor.parts import FAR, Moment, Part

_OUTPUT = "output/"


class Outputs(Part):
    """A dict for each step and clone: (step 0, clone 0), (step 0, clone 1), (step 1, clone 0)…

    ``every`` None: all of them once, at the end. What is left at the end is given too.
    """

    def __init__(
        self, function: Callable[..., Any], every: int | None, per_clone: list[dict[str, Any]]
    ) -> None:
        self._function = function
        self._every = every or FAR
        self._tensors = {
            f"{_OUTPUT}{clone}/{name}": tensor
            for clone, tensors in enumerate(per_clone)
            for name, tensor in tensors.items()
        }
        self._clones = len(per_clone)
        self._names = list(per_clone[0])
        self._steps = 0
        self._kept: list[dict[str, Any]] = []

    def steps_alone(self, step: int) -> int:
        return 1

    def fetches(self, step: int) -> dict[str, Any]:
        return self._tensors

    def after(self, moment: Moment) -> None:
        self._kept += [
            {name: moment.values[f"{_OUTPUT}{clone}/{name}"] for name in self._names}
            for clone in range(self._clones)
        ]
        self._steps += 1
        if self._steps == self._every:
            self._give()

    def end(self, moment: Moment) -> None:
        if self._kept:
            self._give()

    def _give(self) -> None:
        kept, self._kept, self._steps = self._kept, [], 0
        call(self._function, kept)
