"""Jobs on several nodes as DLS began them and ModelArts went on: a ps and a worker on each."""

from collections.abc import Mapping, Sequence

from danlu.dialects.form import Form, resources_of
from danlu.job.plan import Place, Role
from danlu.job.spec import JobSpec

_FLAGS = ("job_name", "task_index", "ps_hosts", "worker_hosts")


def roles(spec: JobSpec) -> Sequence[Role]:
    """One process for one node; from two nodes on, a parameter server beside every worker."""
    nodes = spec.resources.nodes
    worker = Role("worker", nodes, **resources_of(spec))
    if nodes == 1:
        return [worker]
    # The ps shares the node's room and never ends by itself.
    return [Role("ps", nodes, cpus=0, decides=False), worker]


def check(form: Form, spec: JobSpec) -> None:
    """Refuse a flag of the cluster among a job's parameters: all tasks would get the same one."""
    if spec.resources.nodes == 1:
        return
    for name, _ in spec.params:
        if name in _FLAGS:
            form.fault(
                f"parameters.{name}",
                "is given to each task by the service where a job has several nodes: leave it out.",
            )


def flags(place: Place) -> Mapping[str, str]:
    """Return the four flags of a cluster; none where a task is alone."""
    if "ps" not in place.peers:
        return {}
    return {
        "job_name": place.role,
        "task_index": str(place.index),
        "ps_hosts": ",".join(place.peers["ps"]),
        "worker_hosts": ",".join(place.peers["worker"]),
    }
