"""How much room this machine has, and whether a job could ever fit into it."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from danlu.executors.api import Capacity
from danlu.job.plan import Place, Role
from danlu.settings import GiB, MiB, Settings

ROUNDING = 1e-6  # shares of a CPU are added and taken away
_NVIDIA = Path("/proc/driver/nvidia/gpus")


def machine_capacity(settings: Settings, env: Mapping[str, str] | None = None) -> Capacity:
    """Return what the settings say, and what the machine has where they say nothing."""
    return Capacity(
        cpus=settings.cpus or float(len(os.sched_getaffinity(0))),
        memory=settings.memory or _memory(),
        gpus=_gpus(settings.gpus, os.environ if env is None else env),
    )


def faults(roles: Sequence[Role], capacity: Capacity) -> list[tuple[str, str]]:
    """Return why a job can never fit: a field of the request and a sentence for each cause."""
    found = []
    for role in roles:
        if role.cpus > capacity.cpus + ROUNDING:
            found.append(("cpus", _one(role, f"{role.cpus:g} CPUs", f"{capacity.cpus:g}")))
        if role.memory > capacity.memory:
            found.append(("memory", _one(role, size_text(role.memory), size_text(capacity.memory))))
        if role.gpus > len(capacity.gpus):
            found.append(("gpus", _one(role, f"{role.gpus} GPUs", _devices(capacity.gpus))))
    return found or _faults_together(roles, capacity)


def left(capacity: Capacity, places: Iterable[Place]) -> Capacity:
    """Return what is free when all of ``places`` are taken."""
    taken = list(places)
    used = {gpu for place in taken for gpu in place.gpus}
    return Capacity(
        cpus=capacity.cpus - sum(place.cpus for place in taken),
        memory=capacity.memory - sum(place.memory for place in taken),
        gpus=tuple(gpu for gpu in capacity.gpus if gpu not in used),
    )


def _faults_together(roles: Sequence[Role], capacity: Capacity) -> list[tuple[str, str]]:
    count = sum(role.count for role in roles)
    cpus = sum(role.cpus * role.count for role in roles)
    memory = sum(role.memory * role.count for role in roles)
    gpus = sum(role.gpus * role.count for role in roles)
    found = []
    if cpus > capacity.cpus + ROUNDING:
        share = f"{_cut(capacity.cpus / sum(role.count for role in roles if role.cpus)):g} CPUs"
        told = _together(count, f"{cpus:g} CPUs", f"{capacity.cpus:g}", share)
        found.append(("cpus", told))
    if memory > capacity.memory:
        each = capacity.memory // sum(role.count for role in roles if role.memory)
        share = f"{each // MiB} MiB" if each >= MiB else ""
        told = _together(count, size_text(memory), size_text(capacity.memory), share)
        found.append(("memory", told))
    if gpus > len(capacity.gpus):
        each = len(capacity.gpus) // sum(role.count for role in roles if role.gpus)
        share = f"{each} GPUs" if each else ""
        told = _together(count, f"{gpus} GPUs", _devices(capacity.gpus), share)
        found.append(("gpus", told))
    return found


def _one(role: Role, asked: str, there_is: str) -> str:
    return f"a {role.name} asks for {asked}, this machine has {there_is}. Ask for less."


def _together(count: int, asked: str, there_is: str, share: str) -> str:
    return (
        f"the {count} tasks of the job ask for {asked} together, this machine has {there_is}."
        f" Ask for fewer tasks{f', or for {share} on each' if share else ''}."
    )


def _cut(share: float) -> float:
    """Return what one can write: no more than the share, and no long fraction."""
    return max(0.01, math.floor(share * 100) / 100)


def _devices(gpus: tuple[str, ...]) -> str:
    return f"{len(gpus)} ({', '.join(gpus)})" if gpus else "none"


def size_text(count: int) -> str:
    return f"{count / GiB:.4g} GiB" if count >= GiB else f"{count / MiB:.4g} MiB"


def _memory() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        total = next(line for line in file if line.startswith("MemTotal:"))
    return int(total.split()[1]) * 1024


def _gpus(setting: str, env: Mapping[str, str]) -> tuple[str, ...]:
    if setting == "none":
        return ()
    if setting != "auto":
        return _split(setting)
    if "CUDA_VISIBLE_DEVICES" in env:
        # CUDA itself stops reading at the first device it cannot have; -1 is how people say none.
        return tuple(gpu for gpu in _split(env["CUDA_VISIBLE_DEVICES"]) if gpu != "-1")
    try:
        return tuple(str(index) for index, _ in enumerate(os.listdir(_NVIDIA)))
    except OSError:
        return ()


def _split(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
