"""A task's share of its machine, told to the libraries of its script.

Every library makes one thread for each core it sees. Several tasks of a job on one machine see
the same cores: together they would have as many threads for each core as there are tasks.
"""

import math
from collections.abc import Mapping

from danlu.job.plan import Place

_FEWEST_BETWEEN_OPERATIONS = 2  # one alone waits for ever where an operation blocks its thread


def thread_pools(place: Place, cores: int) -> Mapping[str, str]:
    """Return the variables that size the thread pools; none for a task that has all cores.

    TensorFlow's own sessions and servers obey them unless a ConfigProto says otherwise; NumPy's
    BLAS and PyTorch obey OpenMP's.
    """
    share = _share(place, cores)
    if share >= cores:
        return {}
    return {
        "OMP_NUM_THREADS": str(share),
        "TF_NUM_INTRAOP_THREADS": str(share),
        "TF_NUM_INTEROP_THREADS": str(max(share, _FEWEST_BETWEEN_OPERATIONS)),
    }


def _share(place: Place, cores: int) -> int:
    """Return how many cores: as many as were asked for, or what there is for each neighbour.

    One CPU is what a job holds that asks for none.
    """
    if place.cpus > 1:
        return min(math.ceil(place.cpus), cores)
    return max(1, cores // _neighbours(place))


def _neighbours(place: Place) -> int:
    """Return how many tasks of the job compute on this machine; parameter servers hardly do."""
    here = [
        address
        for role, addresses in place.peers.items()
        for address in addresses
        if role != "ps" and address.rpartition(":")[0] == place.host
    ]
    return max(1, len(here))
