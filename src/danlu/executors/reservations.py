"""Who holds which room on this machine: one small file per job, so that a restart forgets none."""

import json
import logging
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from danlu.executors.api import Capacity
from danlu.executors.capacity import ROUNDING
from danlu.job.plan import Place, Role
from danlu.job.wire import from_wire, to_wire

log = logging.getLogger(__name__)


class Reservations:
    """The places every job holds. Not for several threads at once; the executor has a lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places = _load(folder)

    def of(self, job_id: str) -> Sequence[Place] | None:
        return self._places.get(job_id)

    def jobs(self) -> Sequence[str]:
        return sorted(self._places)

    def places(self) -> Iterable[Place]:
        return (place for places in self._places.values() for place in places)

    def hold(self, job_id: str, places: Sequence[Place]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        temporary = self._folder / f".tmp-{secrets.token_hex(8)}"
        temporary.write_text(json.dumps({"places": to_wire(places)}), encoding="utf-8")
        os.replace(temporary, self._file(job_id))
        self._places[job_id] = tuple(places)

    def drop(self, job_id: str) -> None:
        self._file(job_id).unlink(missing_ok=True)
        self._places.pop(job_id, None)

    def _file(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.json"


def lay_out(roles: Sequence[Role], free: Capacity) -> Sequence[Place] | None:
    """Give every task of a job its share of what is free, or none of them anything."""
    gpus = list(free.gpus)
    if sum(role.cpus * role.count for role in roles) > free.cpus + ROUNDING:
        return None
    if sum(role.memory * role.count for role in roles) > free.memory:
        return None
    if sum(role.gpus * role.count for role in roles) > len(gpus):
        return None
    return [
        Place(
            role=role.name,
            index=index,
            cpus=role.cpus,
            memory=role.memory,
            gpus=tuple(gpus.pop(0) for _ in range(role.gpus)),
            decides=role.decides,
        )
        for role in roles
        for index in range(role.count)
    ]


def _load(folder: Path) -> dict[str, tuple[Place, ...]]:
    found = {}
    for path in sorted(folder.glob("*.json")):
        places = _read(path)
        if places is None:
            # Only a crash of the machine leaves such a file, and then no task lives either.
            log.warning("drop unreadable reservation file=%s", path)
            path.unlink(missing_ok=True)
        else:
            found[path.stem] = places
    for rest in folder.glob(".tmp-*"):
        rest.unlink(missing_ok=True)
    return found


def _read(path: Path) -> tuple[Place, ...] | None:
    try:
        data: Mapping[str, Sequence[Mapping[str, object]]] = json.loads(path.read_bytes())
        return tuple(from_wire(Place, place) for place in data["places"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
