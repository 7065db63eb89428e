"""Whether a job could ever fit onto the nodes there are, and why not."""

from collections.abc import Mapping, Sequence

from danlu.executors.api import Node
from danlu.executors.capacity import ROUNDING, size_text
from danlu.job.plan import Role

_SCARCE = ("GPU", "CPU", "memory")


def spread(roles: Sequence[Role], nodes: Sequence[Node]) -> list[str] | None:
    """Return the host of every task if all room were free; None where there is too little.

    The emptiest node first, as Ray spreads a group.
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


def fits(bundles: Sequence[Mapping[str, float]], rooms: Sequence[Mapping[str, float]]) -> bool:
    """Tell whether there is room for all bundles at once: largest first, closest room first."""
    left = [dict(room) for room in rooms]
    for bundle in sorted(
        bundles, key=lambda b: [b.get(name, 0.0) for name in _SCARCE], reverse=True
    ):
        closest = min(
            (room for room in left if _holds(room, bundle)),
            key=lambda room: [room.get(name, 0.0) for name in _SCARCE],
            default=None,
        )
        if closest is None:
            return False
        for name, amount in bundle.items():
            closest[name] = closest.get(name, 0.0) - amount
    return True


def _holds(room: Mapping[str, float], bundle: Mapping[str, float]) -> bool:
    return all(room.get(name, 0.0) + ROUNDING >= amount for name, amount in bundle.items())


def faults(roles: Sequence[Role], nodes: Sequence[Node]) -> list[tuple[str, str]]:
    """Return why a job can never fit: a field of the request and a sentence for each cause."""
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
    return (
        f"a {role.name} asks for {asked}, the largest node of the cluster has {there_is}."
        " Ask for less, or let a larger node join."
    )


def _together(roles: Sequence[Role], nodes: Sequence[Node]) -> str:
    count = sum(role.count for role in roles)
    cpus = sum(role.cpus * role.count for role in roles)
    rooms = ", ".join(f"{node.host}: {node.cpus:g} CPUs, {node.gpus} GPUs" for node in nodes[:8])
    more = f" and {len(nodes) - 8} more" if len(nodes) > 8 else ""
    return (
        f"the {count} tasks of the job ask for {cpus:g} CPUs together and do not fit onto the"
        f" nodes of the cluster ({rooms}{more}). Ask for fewer, or let more nodes join."
    )
