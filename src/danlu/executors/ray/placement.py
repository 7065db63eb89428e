"""Converts roles to Ray bundles, and the reports of agent actors to allocations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from danlu.executors.api import Node
from danlu.executors.machine import ROUNDING, size_text
from danlu.job.plan import Isolation, Place, Role
from danlu.job.wire import from_wire
from danlu.messages import get_message

_LEAST = float(1 << 20)  # bytes of memory; Ray rejects an empty bundle
_FIRST_PORT = 20_000


def bundles_of(roles: Sequence[Role]) -> list[dict[str, float]]:
    """Return the Ray bundle of each task."""
    found = []
    for role in roles:
        bundle = {"CPU": role.cpus, "memory": float(role.memory), "GPU": float(role.gpus)}
        kept = {name: amount for name, amount in bundle.items() if amount}
        found += [kept or {"memory": _LEAST}] * role.count
    return found


def places_of(
    job_id: str, attempt: int, roles: Sequence[Role], holders: Sequence[Mapping[str, Any]]
) -> list[Place]:
    """Return the allocations of a job from its agent actors' reports, in the order of its tasks."""
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
    """Return example allocations for display. The real ports are chosen on the nodes."""
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
    """Return the allocations with the addresses of all peers. A single task needs no port."""
    if len(places) < 2:
        return [replace(place, port=0) for place in places]
    peers: dict[str, tuple[str, ...]] = {}
    for place in places:
        peers[place.role] = (*peers.get(place.role, ()), f"{place.host}:{place.port}")
    return [replace(place, peers=peers) for place in places]


_SCARCE = ("GPU", "CPU", "memory")


def spread(roles: Sequence[Role], nodes: Sequence[Node]) -> list[str] | None:
    """Return the host of every task if all capacity were free, or None if they do not fit.

    The node with the most free capacity comes first, as Ray spreads a group.
    """
    left = {node.host: [node.cpus, node.memory, node.gpus] for node in nodes}
    found = []
    for role in roles:
        for _ in range(role.count):
            fitting = [
                host
                for host, (cpus, memory, gpus) in left.items()
                if cpus + ROUNDING >= role.cpus and memory >= role.memory and gpus >= role.gpus
            ]
            if not fitting:
                return None
            host = max(fitting, key=lambda name: (left[name][2] * bool(role.gpus), left[name][0]))
            left[host] = [
                left[host][0] - role.cpus,
                left[host][1] - role.memory,
                left[host][2] - role.gpus,
            ]
            found.append(host)
    return found


def fits(bundles: Sequence[Mapping[str, float]], capacities: Sequence[Mapping[str, float]]) -> bool:
    """Return True if all bundles fit at once.

    Places the largest bundle first, each into the smallest capacity that fits.
    """
    left = [dict(each) for each in capacities]
    for bundle in sorted(
        bundles, key=lambda b: [b.get(name, 0.0) for name in _SCARCE], reverse=True
    ):
        closest = min(
            (each for each in left if _holds(each, bundle)),
            key=lambda each: [each.get(name, 0.0) for name in _SCARCE],
            default=None,
        )
        if closest is None:
            return False
        for name, amount in bundle.items():
            closest[name] = closest.get(name, 0.0) - amount
    return True


def _holds(capacity: Mapping[str, float], bundle: Mapping[str, float]) -> bool:
    return all(capacity.get(name, 0.0) + ROUNDING >= amount for name, amount in bundle.items())


def faults(roles: Sequence[Role], nodes: Sequence[Node]) -> list[tuple[str, str]]:
    """Return why a job can never fit: pairs of a request field and a sentence."""
    cpus = max((node.cpus for node in nodes), default=0.0)
    memory = max((node.memory for node in nodes), default=0)
    gpus = max((node.gpus for node in nodes), default=0)
    found = []
    for role in roles:
        if role.cpus > cpus + ROUNDING:
            found.append(("cpus", _one(role, f"{role.cpus:g} CPUs", f"{cpus:g}")))
        if role.memory > memory:
            found.append(("memory", _one(role, size_text(role.memory), size_text(memory))))
        if role.gpus > gpus:
            found.append(("gpus", _one(role, f"{role.gpus} GPUs", f"{gpus}")))
    if not found and spread(roles, nodes) is None:
        found.append(("nodes", _together(roles, nodes)))
    return found


def _one(role: Role, asked: str, there_is: str) -> str:
    return get_message("ray.node_too_small", name=role.name, asked=asked, there_is=there_is)


def _together(roles: Sequence[Role], nodes: Sequence[Node]) -> str:
    count = sum(role.count for role in roles)
    cpus = sum(role.cpus * role.count for role in roles)
    shown = ", ".join(f"{node.host}: {node.cpus:g} CPUs, {node.gpus} GPUs" for node in nodes[:8])
    shown += ", …" if len(nodes) > 8 else ""
    return get_message("ray.does_not_fit", count=count, cpus=cpus, nodes=shown)
