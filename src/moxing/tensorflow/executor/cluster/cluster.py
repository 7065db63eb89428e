"""A run on several processes: parameter servers store the variables, workers train.

Contains the placement of variables, the TensorFlow servers, the hooks that stop all workers
together, and ``Cluster``, the role of this process in a run.
"""

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime import cluster
from moxing.tensorflow.executor.cluster.hosts import (
    Peer,
    Wait,
    faults,
    listed,
    listening,
    port_is_free,
    wait_for,
)
from moxing.tensorflow.executor.cluster.session import ChiefCreator, WorkerCreator
from moxing.tensorflow.executor.cluster.sync import (
    ChiefCounts,
    SynchronousHook,
    SynchronousOptimizer,
)
from moxing.tensorflow.executor.cluster.watch import (
    FINISHED,
    GONE,
    HERE,
    Marks,
    StallReportHook,
    WorkerStatus,
    wait_until,
)
from moxing.tensorflow.executor.request import get_flag

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable")
# A counter for each graph. All workers build the same graph and get the same placement.
_turns: weakref.WeakKeyDictionary[Any, Iterator[int]] = weakref.WeakKeyDictionary()


def placing(worker: int, servers: int, device: str) -> Callable[[Any], str]:
    """Return a device function that distributes variables over the servers in turn.

    Everything else is placed on this worker.
    """
    turn = _turns.setdefault(tf.get_default_graph(), itertools.count())
    own = tf.DeviceSpec.from_string(f"/job:worker/task:{worker}{device}")

    def place(operation: Any) -> str:
        given = tf.DeviceSpec.from_string(operation.device or "")
        if operation.type not in _VARIABLES or given.job not in (None, "ps"):
            return str(own.make_merged_spec(given).to_string())
        task = next(turn) % servers if given.task is None else given.task
        return f"/job:ps/task:{task}/device:CPU:0"

    return place


def keeping_local(worker: int) -> Callable[..., Any]:
    """Return a variable creator that places local variables on the worker.

    On a server, for example, the sums of metrics of all workers would be mixed.
    """

    def make_there(make: Callable[..., Any], **wanted: Any) -> Any:
        if tf.GraphKeys.LOCAL_VARIABLES not in (wanted.get("collections") or ()):
            return make(**wanted)
        with tf.device(f"/job:worker/task:{worker}/device:CPU:0"):
            return make(**wanted)

    return make_there


_servers: dict[Peer, Any] = {}


def start(
    own: Peer, everyone: Sequence[Peer], config: tf.ConfigProto, together: Wait | None = None
) -> str:
    """Start the server, unless it is running, and return the target of its sessions.

    With ``together``, wait until every other process listens.

    Raises:
        OSError: the port is in use.
    """
    if own in _servers:
        return str(_servers[own].target)
    cluster.bypass(peer.host for peer in everyone)
    if not port_is_free(own.port):
        raise OSError(
            f"Port {own.port} of {own} is in use: end the process that listens there (an earlier "
            f"run of this task?), or give --{own.job}_hosts another port, in all processes."
        )
    if together is not None:
        with listening(own):
            wait_for([peer for peer in everyone if peer != own], together)
    jobs = {job: [peer.address for peer in everyone if peer.job == job] for job in ("ps", "worker")}
    if own.job == "ps":
        config = _copy(config)
        config.device_count["GPU"] = 0  # the worker on the same node needs them
    _servers[own] = tf.train.Server(
        tf.train.ClusterSpec(jobs), job_name=own.job, task_index=own.index, config=config
    )
    return str(_servers[own].target)


def _copy(config: tf.ConfigProto) -> tf.ConfigProto:
    own = tf.ConfigProto()
    own.CopyFrom(config)
    return own


class StopTogether(tf.train.SessionRunHook):
    """A hook that stops all workers when one of them decides to stop.

    ``decided`` returns True if the loop of this worker was asked to stop. With ``shared``, a stop
    that a hook requests applies to all workers too. It must be the last hook.
    """

    def __init__(self, decided: Callable[[], bool], shared: bool, is_chief: bool) -> None:
        self._decided = decided
        self._shared = shared
        self._is_chief = is_chief
        self._asked = False
        with tf.device("/job:ps/task:0/device:CPU:0"):
            kept = tf.get_variable(
                "mox_stop",
                initializer=tf.constant(False),
                trainable=False,
                collections=[],
                use_resource=True,
            )
            self._begin = kept.initializer
            self._request = kept.assign(True, read_value=False)
            self._is_requested = tf.cond(kept.is_initialized(), kept.read_value, lambda: False)

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._is_chief:
            session.run(self._begin)

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(self._is_requested)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._asked |= self._shared and run_context.stop_requested
        if run_values.results:
            run_context.request_stop()

    def notify(self, session: Any) -> None:
        """Notify the other workers if this worker has decided to stop."""
        if self._asked or self._decided():
            session.run(self._request)


class LeaveHook(tf.train.SessionRunHook):
    """A hook that notifies the other workers of a stop and then waits for them.

    It must be the first hook, because later hooks save checkpoints.
    """

    def __init__(self, stop: StopTogether, wait: Callable[[], None]) -> None:
        self._stop = stop
        self._wait = wait

    def end(self, session: Any) -> None:
        self._stop.notify(session)
        self._wait()


_runs = itertools.count(1)
_optimizers: weakref.WeakKeyDictionary[Any, Iterator[int]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Cluster:
    """The role of this process in a cluster, for one run. The chief is worker 0."""

    job: str
    index: int
    ps: tuple[str, ...]
    workers: tuple[str, ...]
    synchronous: bool = True
    chief_counts: bool = False  # for asynchronous steps: only the chief counts them
    together: bool = False  # start the server only when every process listens
    timeout: float = 0  # seconds to wait for the others at the start; 0: no limit
    # All processes run the same script, so the same call of mox.run has the same number in each.
    run: int = field(default_factory=lambda: next(_runs))

    @classmethod
    def of_flags(cls) -> "Cluster | None":
        """Return the cluster that the flags describe, or None for a single process.

        Raises:
            ValueError: the flags are wrong; the message lists every fault.
            Unsupported: the role is not implemented.
        """
        job = str(get_flag("job_name"))
        if not job:
            return None
        index = int(get_flag("task_index"))
        ps, workers = (listed(each, str(get_flag(f"{each}_hosts"))) for each in ("ps", "worker"))
        wrong = faults(job, index, [*ps, *workers])
        if wrong:
            raise ValueError("\n".join(wrong))
        return cls(
            job=job,
            index=index,
            ps=tuple(peer.address for peer in ps),
            workers=tuple(peer.address for peer in workers),
            synchronous=bool(get_flag("sync_replicas")),
            chief_counts=bool(get_flag("chief_inc_global_step")),
            together=bool(get_flag("sync_before_server")),
            timeout=float(get_flag("session_timeout")),
        )

    @property
    def is_chief(self) -> bool:
        return self.job == "worker" and self.index == 0

    @property
    def is_server(self) -> bool:
        return self.job == "ps"

    @property
    def steps_together(self) -> bool:
        """True if one step is one update from all workers."""
        return self.synchronous and len(self.workers) > 1

    def serve(self) -> None:
        """Run as a parameter server until every worker of this run has ended.

        Raises:
            TimeoutError: a worker did not listen within ``timeout`` seconds.
        """
        self.start(tf.ConfigProto())
        own = self._own
        tf.logging.info("%s serves until %d worker(s) have ended.", own, len(self.workers))
        if self.timeout:
            wait_for(self._workers, Wait(self.timeout))
        config = self._seeing(tf.ConfigProto(), f"/job:ps/task:{self.index}")
        attendance = self._attendance(config, self.index)
        wait = Wait()
        known: set[int] = set()
        with attendance.open() as marks:
            while len(known) < len(self.workers):
                gone = marks.at(GONE)
                for worker in sorted(gone - known):
                    tf.logging.info("worker %d has ended.", worker)
                known = gone
                wait.pause()
        tf.logging.info("Every worker has ended, and so does %s.", own)

    def start(self, config: tf.ConfigProto) -> str:
        """Start this process's server, once for all runs; return the target of its sessions."""
        wait = Wait(self.timeout) if self.together else None
        return start(self._own, self._everyone, config, wait)

    @contextlib.contextmanager
    def building(self) -> Iterator[None]:
        """Build the graph of a run inside this context.

        Its variables on the servers are separate from those of other runs.
        """
        with (
            tf.get_default_graph().container(self._container),
            tf.device(self.devices()),
            tf.variable_creator_scope(keeping_local(self.index)),
        ):
            yield

    def devices(self, device: str = "") -> Callable[[Any], str]:
        """Return a device function that distributes variables over the servers in turn.

        Everything else is placed on this worker. ``device`` is one of its devices, such as
        ``/device:GPU:1``. If it is empty, TensorFlow chooses.
        """
        return placing(self.index, len(self.ps), device)

    def synchronized(self, optimizer: Any) -> tuple[Any, list[tf.train.SessionRunHook]]:
        """Return the optimizer, wrapped as this run requires, and the hooks it needs."""
        if self.steps_together:
            numbers = _optimizers.setdefault(tf.get_default_graph(), itertools.count())
            joined = SynchronousOptimizer(
                optimizer, self.index, len(self.workers), number=next(numbers)
            )
            return joined, [SynchronousHook(joined)]
        if self.chief_counts and not self.is_chief:
            return ChiefCounts(optimizer), []
        return optimizer, []

    def session(
        self,
        scaffold: Any,
        config: tf.ConfigProto,
        hooks: Sequence[Any] = (),
        chief_only_hooks: Sequence[Any] = (),
        checkpoint_dir: str | None = None,
        decided: Callable[[], bool] = lambda: False,
        shared: bool = False,
        first: Sequence[Any] = (),
    ) -> tf.train.MonitoredSession:
        """Return a session of this worker; the chief's session initializes the variables.

        ``checkpoint_dir`` has the values to restore if the servers are lost during the run.
        ``decided`` returns True at the end if this worker has decided that all workers stop. With
        ``shared``, hooks decide that too. With ``steps_together``, a worker that ends always ends
        the others. ``first`` are hooks of optimizers, which release other workers before this one
        waits for any.
        """
        target = self.start(config)
        config = self._seeing(config, *self._seen)
        before: list[Any] = [*first, StallReportHook(self._others)]
        after: list[Any] = [*(chief_only_hooks if self.is_chief else ()), *hooks]
        if len(self.workers) > 1 and not self.steps_together:
            stop = StopTogether(decided, shared, self.is_chief)
            before.append(LeaveHook(stop, self._let_finish))
            after.append(stop)
        given = (target, config, scaffold, self._needed(), lambda: Wait(self.timeout))
        creator: Any
        if self.is_chief:
            creator = ChiefCreator(*given, checkpoint_dir=checkpoint_dir)
        else:
            creator = WorkerCreator(*given)
        session = tf.train.MonitoredSession(creator, [*before, *after])
        with self._marks() as marks:
            marks.write(self.index, HERE)
        return session

    def leave(self) -> None:
        """Report that this worker has ended; return when the chief has ended and written its files.

        A chief that does not answer is not waited for, because it did not end normally.
        """
        with self._marks() as marks:
            if not self.is_chief:
                marks.write(self.index, FINISHED)
                wait_until(GONE, self._workers[:1], marks)
            marks.write(self.index, GONE)

    def _let_finish(self) -> None:
        """On the chief, wait for the others before the last checkpoint.

        The checkpoint must include their last steps.
        """
        if self.is_chief:
            with self._marks() as marks:
                wait_until(FINISHED, self._workers[1:], marks)

    def _marks(self) -> contextlib.AbstractContextManager[Marks]:
        return self._attendance(self._seeing(tf.ConfigProto(), *self._seen)).open()

    def _needed(self) -> list[Peer]:
        """Return the processes that must listen before a session can be created."""
        if self.is_chief and self.steps_together:
            return [*self._servers, *self._workers[1:]]
        return self._servers

    def _attendance(self, config: tf.ConfigProto, server: int | None = None) -> WorkerStatus:
        servers = range(len(self.ps)) if server is None else [server]
        target = self.start(config)
        return WorkerStatus(target, config, self._container, servers, len(self.workers))

    @staticmethod
    def _seeing(config: tf.ConfigProto, *devices: str) -> tf.ConfigProto:
        """Return a configuration that sees only ``devices``.

        A session then does not need other processes, which may come and go.
        """
        own = tf.ConfigProto()
        own.CopyFrom(config)
        own.device_filters.extend(devices)
        return own

    @property
    def _container(self) -> str:
        return f"mox-run-{self.run}"

    @property
    def _seen(self) -> tuple[str, str]:
        return "/job:ps", f"/job:worker/task:{self.index}"

    @property
    def _servers(self) -> list[Peer]:
        return list(listed("ps", ",".join(self.ps)))

    @property
    def _workers(self) -> list[Peer]:
        return list(listed("worker", ",".join(self.workers)))

    @property
    def _everyone(self) -> list[Peer]:
        return [*self._servers, *self._workers]

    @property
    def _own(self) -> Peer:
        return (self._servers if self.is_server else self._workers)[self.index]

    @property
    def _others(self) -> list[Peer]:
        return [peer for peer in self._everyone if peer != self._own]
