"""The number of workers and the index of this one, for sharding data."""

from moxing.tensorflow.executor.request import get_flag


def size() -> int:
    """Return the number of workers; 1 where there is no cluster."""
    hosts = [each for each in str(get_flag("worker_hosts")).split(",") if each.strip()]
    return len(hosts) if get_flag("job_name") and hosts else 1


def rank() -> int:
    """Return which worker this is, from 0 on; 0 where there is no cluster."""
    return int(get_flag("task_index")) if get_flag("job_name") else 0
