"""What a job names and the nodes of its cluster cannot reach: told before it is accepted."""

from danlu.errors import DanluError
from danlu.job.spec import JobSpec
from danlu.service.tables import Found
from danlu.settings import Settings
from danlu.storage.cluster import reaches_nodes
from danlu.storage.locate import Stores


def out_of_reach(spec: JobSpec, stores: Stores, settings: Settings) -> Found:
    """Return a fault for every place of a job that lies on the disk of the server alone."""
    if settings.executor != "ray":
        return []
    faults: Found = []
    for name, uri in {"code": spec.code, **spec.inputs, **spec.outputs}.items():
        try:
            there = not uri or reaches_nodes(stores.at(uri), settings)
        except DanluError:
            continue  # told where the place itself is looked at
        if not there:
            faults.append(
                (
                    name,
                    f"{uri!r} lies on the disk of the server, which the nodes of the cluster do not"
                    " see. Copy it to a bucket at a service (danlu store cp), or set store_shared"
                    " where all nodes share that disk.",
                )
            )
    return faults
