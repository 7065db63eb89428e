"""Finds versions that install on this Python, relaxing what does not, and installs them."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from danlu.agent.install_names import COMPILED, NEVER, Change, choose, dropped
from danlu.agent.install_uv import Uv, UvFailed
from danlu.agent.install_wanted import Wanted


class Impossible(Exception):
    """Requirements that cannot be installed at all; ``faults`` are a sentence each."""

    def __init__(self, faults: Sequence[str], said: str = "") -> None:
        super().__init__("\n".join(faults))
        self.faults = list(faults)
        self.said = said


@dataclass
class Solver:
    """Everything is tried as written first; only what fails is relaxed."""

    uv: Uv
    runtime: Mapping[str, str]
    changes: list[Change] = field(default_factory=list)
    installed: dict[str, str] = field(default_factory=dict)
    _sources: set[str] = field(default_factory=set)  # names that may be built
    _tried: set[str] = field(default_factory=set)

    def solve(self, wanted: Sequence[Wanted], target: Path) -> None:
        """Fill ``target``; ``changes`` and ``installed`` tell what was done.

        Raises:
            UvFailed: the network did not answer.
            Impossible: with every requirement that is at fault.
        """
        active = self._choose(wanted)
        self._sources = {item.name for item in active if _is_source(item)}
        faults: list[str] = []
        said = ""
        while True:
            error = self._attempt(active, target)
            if error is None:
                break
            if error.outage:
                raise error
            if self._can_build(active, error):
                continue
            said = error.text
            index = self._suspect(active, error)
            suspect = active[index]
            if suspect.loose or suspect.alone:
                faults.append(f"{suspect.asked!r} ({suspect.where}): {error.line}")
                del active[index]
            else:
                self._relax(active, index)
        if faults:
            raise Impossible(faults, said)

    def version(self, name: str) -> str:
        return self.installed.get(name) or self.runtime.get(name, "")

    def _choose(self, wanted: Sequence[Wanted]) -> list[Wanted]:
        active = []
        for item in wanted:
            choice = choose(item, self.runtime)
            if choice.change is not None:
                self.changes.append(choice.change)
            if choice.install is not None:
                active.append(choice.install)
        return active

    def _attempt(self, active: Sequence[Wanted], target: Path) -> UvFailed | None:
        alone = [item for item in active if item.alone]
        try:
            self.installed = self._plan(active)
            given = {item.name: item for item in active if item.url}
            picked = [item.text for item in alone]
            for name, version in self.installed.items():
                picked.append(given[name].text if name in given else f"{name}=={version}")
            self.installed |= {item.name: item.specifier.lstrip("=") for item in alone}
            if picked:
                shutil.rmtree(target)  # what an earlier try left
                self.uv.fill(target, picked)
        except UvFailed as error:
            return error
        return None

    def _plan(self, active: Sequence[Wanted]) -> dict[str, str]:
        wanted = [item.text for item in active if not item.alone]
        if not wanted:
            return {}
        overrides = [f"{name} ; {NEVER}" for name in dropped(self.runtime)]
        held = [f"{name}=={version}" for name, version in self.runtime.items()]
        try:
            # Versions that go with the runtime, where there are any …
            return self.uv.plan(wanted, overrides, held, self._sources)
        except UvFailed as error:
            if error.outage:
                raise
        # … else the runtime's packages, whatever others say they need.
        return self.uv.plan(wanted, [*overrides, *held], [], self._sources)

    def _can_build(self, active: Sequence[Wanted], error: UvFailed) -> bool:
        """Allow what has no wheel to be built, where it can be; False where nothing was won."""
        won = False
        direct = {item.name: item for item in active}
        for name in error.without_wheel:
            item = direct.get(name)
            text = item.text if item else name
            if text in self._tried:
                continue
            self._tried.add(text)
            if item is not None and not item.loose and name in COMPILED:
                continue
            if item is None or self.uv.builds(name, text):
                self._sources.add(name)
                won = True
        return won

    def _suspect(self, active: Sequence[Wanted], error: UvFailed) -> int:
        """Return which requirement fails: the one that is named, else found by halving."""
        lacking = error.without_wheel
        named = [n for n, item in enumerate(active) if item.name in lacking]
        named = named or [n for n, item in enumerate(active) if error.names(item.name)]
        if len(named) == 1:
            return named[0]
        good, bad = 0, len(active)  # the first `good` are fine together, the first `bad` are not
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                self._plan(active[:middle])
                good = middle
            except UvFailed as trouble:
                if trouble.outage:
                    raise
                bad = middle
        return bad - 1

    def _relax(self, active: list[Wanted], index: int) -> None:
        item = active[index]
        active[index] = item.loosened()
        # One change for each line: a new name and another version are one.
        self.changes = [known for known in self.changes if known.asked != item.asked]
        self.changes.append(Change(item.asked, item.where, "any_version", item.name))


def _is_source(item: Wanted) -> bool:
    return bool(item.url) and not item.url.split("#")[0].endswith(".whl")
