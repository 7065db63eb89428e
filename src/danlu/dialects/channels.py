"""Inputs and outputs that reach a script as local directories, or as the URLs they were given by.

Two services share them: ModelArts turned the URLs of its ancestor DLS into directories and kept
the names. Which channels are URLs is in ``spec.options["urls"]``, names separated by commas:
the user's word, or found in the code when the job is submitted.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from danlu.dialects.form import Form
from danlu.job.plan import Fetch, Place, Push
from danlu.job.spec import JobSpec

AUTO = "auto"  # the code decides


def read_urls(form: Form, channels: Collection[str]) -> str:
    """Return the channels to pass as URLs: 'auto', or names; of the field ``urls``."""
    given = form.text("urls", AUTO)
    if given == AUTO:
        return AUTO
    if given in ("all", "none"):
        return ",".join(channels) if given == "all" else ""
    names = [name.strip() for name in given.split(",")]
    for name in names:
        if name not in channels:
            form.fault("urls", f"{name!r} is no input or output of this job; or: auto, all, none.")
    return ",".join(names)


@dataclass(frozen=True)
class Channels:
    """The channels of one task; ``inputs`` and ``outputs`` are the service's folders for them."""

    spec: JobSpec
    place: Place
    inputs: str
    outputs: str

    def shown(self) -> Mapping[str, str]:
        """Return what the script is told, in the order of the job."""
        return {**self._inputs(), **self._outputs(), **self._urls()}

    def fetch(self) -> tuple[Fetch, ...]:
        urls = self._urls()
        return tuple(
            Fetch(self.spec.inputs[name], path, name)
            for name, path in self._inputs().items()
            if name not in urls
        )

    def push(self, restored: Collection[str] = ()) -> tuple[Push, ...]:
        """Return the outputs to mirror; those ``restored`` begin with what is there."""
        # Parameter servers write nothing: their empty directories must not reach the store.
        if not self.place.decides:
            return ()
        urls = self._urls()
        return tuple(
            Push(path, self.spec.outputs[name], name, restore=name in restored)
            for name, path in self._outputs().items()
            if name not in urls
        )

    def folders(self) -> tuple[str, ...]:
        urls = self._urls()
        return tuple(path for name, path in self._outputs().items() if name not in urls)

    def _inputs(self) -> dict[str, str]:
        return {name: self.place.path(f"{self.inputs}/{name}_0") for name in self.spec.inputs}

    def _outputs(self) -> dict[str, str]:
        return {name: self.place.path(f"{self.outputs}/{name}_0") for name in self.spec.outputs}

    def _urls(self) -> dict[str, str]:
        chosen = self.spec.options.get("urls", "").split(",")
        places = {**self.spec.inputs, **self.spec.outputs}
        return {name: uri for name, uri in places.items() if name in chosen}
