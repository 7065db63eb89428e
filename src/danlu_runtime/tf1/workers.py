"""Workers of a cluster as plain scripts write them: they find each other, begin and end.

For TensorFlow 2.21, where all this is as it was in 1.x.
"""

import functools
from typing import Any

from danlu_runtime import proxies

_DEFAULT, _OFTEN = 30, 1.0  # seconds


def pass_proxies_by() -> None:
    """Let the server of a process reach the others without the proxy of the environment."""
    from tensorflow.python.training import server_lib

    make = server_lib._make_server_def

    @functools.wraps(make)
    def make_reachable(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        addresses = [address for job in made.cluster.job for address in job.tasks.values()]
        proxies.bypass(address.rpartition(":")[0] for address in addresses)
        return made

    server_lib._make_server_def = make_reachable


def look_often() -> None:
    """Let a worker look every second whether the chief is ready: it looked every 30 s.

    ``MonitoredTrainingSession`` and ``tf.estimator`` offer no way to say so.
    """
    from tensorflow.python.training import session_manager

    begin = session_manager.SessionManager.__init__

    @functools.wraps(begin)
    def begin_often(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        if self._recovery_wait_secs == _DEFAULT:
            self._recovery_wait_secs = _OFTEN

    session_manager.SessionManager.__init__ = begin_often


def end_synchronous_runs() -> None:
    """Let the chief of a ``SyncReplicasOptimizer`` end when its steps are done.

    A thread of its own waits for gradients of a step that nobody takes any more, inside
    TensorFlow, where no stop reaches it: the chief waited two minutes for that thread. It is
    ended with the session. The thread that lets the other workers go is still waited for.
    """
    from tensorflow.python.training import sync_replicas_optimizer

    hook = sync_replicas_optimizer._SyncReplicasOptimizerHook
    start = hook.after_create_session

    @functools.wraps(start)
    def start_unwaited(self: Any, session: Any, coord: Any) -> None:
        known = set(coord._registered_threads)
        start(self, session, coord)
        for thread in set(coord._registered_threads) - known:
            if not thread.name.endswith("close_on_stop"):
                coord._registered_threads.discard(thread)

    hook.after_create_session = start_unwaited
