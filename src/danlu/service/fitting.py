"""Instance types of a cloud on the machine there is.

An old script asks for the machine its author rented, and runs as well on a smaller one. So a
flavor that does not fit is cut to this machine's share and the job says so; numbers that were
asked for one by one are never changed.
"""

import re
from collections.abc import Mapping

from danlu.executors.api import Capacity
from danlu.job.spec import Resources
from danlu.settings import Flavor, GiB

# DLS named its machines by their cards: '4*P100'. What else they had is not written anywhere.
_CARDS = re.compile(r"([1-9][0-9]?)\s*\*\s*[A-Za-z][A-Za-z0-9-]*")


def named(name: str, flavors: Mapping[str, Flavor]) -> Flavor | None:
    """Return the flavor of this name: one of the table, or so many cards of a kind."""
    if name in flavors:
        return flavors[name]
    cards = _CARDS.fullmatch(name)
    return Flavor(gpus=int(cards[1])) if cards else None


def fit(
    flavor: Flavor, asked: Resources, capacity: Capacity, *, strict_gpus: bool
) -> tuple[Flavor, list[str]]:
    """Return what each node gets of a flavor, and a note where that is less than it names."""
    most = capacity.most(max(asked.nodes, 1))
    cpus = flavor.cpus if asked.cpus else min(flavor.cpus, most.cpus)
    memory = flavor.memory if asked.memory else min(flavor.memory, most.memory)
    gpus = flavor.gpus
    if not asked.gpus and not strict_gpus and capacity.gpus:
        gpus = min(flavor.gpus, most.gpus)
    cut = []
    if cpus < flavor.cpus:
        cut.append(f"{cpus:g} CPUs of {flavor.cpus:g}")
    if memory < flavor.memory:
        cut.append(f"{memory / GiB:.3g} GiB of {flavor.memory / GiB:.3g}")
    if gpus < flavor.gpus:
        cut.append(f"{gpus} GPUs of {flavor.gpus}")
    note = f"flavor: {asked.flavor} is larger than this machine: each node gets {', '.join(cut)}."
    return Flavor(cpus, memory, gpus), [note] if cut else []
