"""Places on a cluster: what is asked of Ray, and what the holders say they are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from danlu.job.plan import Isolation, Place, Role
from danlu.job.wire import from_wire

_LEAST = float(1 << 20)  # bytes of memory: Ray refuses a bundle of nothing
_FIRST_PORT = 20_000


def bundles_of(roles: Sequence[Role]) -> list[dict[str, float]]:
    """Return what each task takes, in Ray's words."""
    found = []
    for role in roles:
        bundle = {"CPU": role.cpus, "memory": float(role.memory), "GPU": float(role.gpus)}
        kept = {name: amount for name, amount in bundle.items() if amount}
        found += [kept or {"memory": _LEAST}] * role.count
    return found


def places_of(
    job_id: str, attempt: int, roles: Sequence[Role], holders: Sequence[Mapping[str, Any]]
) -> list[Place]:
    """Return the places of a job from what its holders said, in the order of its tasks."""
    found = []
    for place, holder in zip(_bare(roles), holders, strict=True):
        isolation = from_wire(Isolation, holder["isolation"])
        root = f"{holder['work']}/{job_id}/{attempt}/{place.task}/root"
        found.append(
            replace(
                place,
                host=holder["host"],
                port=holder["port"],
                gpus=tuple(holder["gpus"]),
                isolation=isolation,
                root="" if isolation.private_paths else root,
            )
        )
    return _introduced(found)


def imagined(roles: Sequence[Role], hosts: Sequence[str]) -> list[Place]:
    """Return places for people to look at; their ports are chosen on the nodes."""
    found = [
        replace(place, host=host, port=_FIRST_PORT + number, isolation=Isolation("user", True))
        for number, (place, host) in enumerate(zip(_bare(roles), hosts, strict=True))
    ]
    return _introduced(found)


def _bare(roles: Sequence[Role]) -> list[Place]:
    return [
        Place(role.name, index, cpus=role.cpus, memory=role.memory, decides=role.decides)
        for role in roles
        for index in range(role.count)
    ]


def _introduced(places: Sequence[Place]) -> list[Place]:
    """Tell each task of all; one that is alone needs no port."""
    if len(places) < 2:
        return [replace(place, port=0) for place in places]
    peers: dict[str, tuple[str, ...]] = {}
    for place in places:
        peers[place.role] = (*peers.get(place.role, ()), f"{place.host}:{place.port}")
    return [replace(place, peers=peers) for place in places]
