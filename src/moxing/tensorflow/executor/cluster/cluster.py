"""A run on several processes: parameter servers that keep the variables, workers that train."""

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.cluster import server
from moxing.tensorflow.executor.cluster.attendance import (
    FINISHED,
    GONE,
    HERE,
    Attendance,
    Marks,
)
from moxing.tensorflow.executor.cluster.hosts import Peer, faults, listed
from moxing.tensorflow.executor.cluster.places import keeping_local, placing
from moxing.tensorflow.executor.cluster.reach import Wait, wait_for
from moxing.tensorflow.executor.cluster.session import ChiefCreator, WorkerCreator
from moxing.tensorflow.executor.cluster.stop import Farewell, StopTogether
from moxing.tensorflow.executor.cluster.sync import (
    ChiefCounts,
    SynchronousHook,
    SynchronousOptimizer,
)
from moxing.tensorflow.executor.cluster.watch import Watch, wait_until
from moxing.tensorflow.executor.flags import get_flag

_runs = itertools.count(1)
_optimizers: weakref.WeakKeyDictionary[Any, Iterator[int]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Cluster:
    """This process's place among the others, for one run. The chief is worker 0."""

    job: str
    index: int
    ps: tuple[str, ...]
    workers: tuple[str, ...]
    synchronous: bool = True
    chief_counts: bool = False  # without synchronous steps: only the chief counts them
    together: bool = False  # no server before every process is there
    timeout: float = 0  # seconds to wait for the others at the start; 0: no end
    # All processes run the same script, so the same call of mox.run has the same number in each.
    run: int = field(default_factory=lambda: next(_runs))

    @classmethod
    def of_flags(cls) -> "Cluster | None":
        """Return what the flags say, None for one process alone.

        Raises:
            ValueError: something is wrong with them; every fault is told.
            Unsupported: a role that is not there.
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
        """Whether one step is one update from all workers."""
        return self.synchronous and len(self.workers) > 1

    def serve(self) -> None:
        """Be a parameter server until every worker of this run has ended.

        Raises:
            TimeoutError: a worker did not come in ``timeout``.
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
        return server.start(self._own, self._everyone, config, wait)

    @contextlib.contextmanager
    def building(self) -> Iterator[None]:
        """Be around all that is built: what one run leaves on the servers is not the next one's."""
        with (
            tf.get_default_graph().container(self._container),
            tf.device(self.devices()),
            tf.variable_creator_scope(keeping_local(self.index)),
        ):
            yield

    def devices(self, device: str = "") -> Callable[[Any], str]:
        """Return a device function: variables go round the servers, the rest is this worker's.

        ``device``: which of its devices, such as ``/device:GPU:1``; empty: TensorFlow chooses.
        """
        return placing(self.index, len(self.ps), device)

    def synchronized(self, optimizer: Any) -> tuple[Any, list[tf.train.SessionRunHook]]:
        """Return what applies gradients as this run does, and the hooks it needs."""
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
        """Return a session of this worker; the chief's gives the variables their values.

        ``checkpoint_dir``: where they are when the servers were lost in the middle of it.
        ``decided`` tells at the end whether this worker has decided that all stop; ``shared``:
        hooks decide that too. With steps together, one that ends always ends the others.
        ``first``: hooks of optimizers, who let others go before anybody is waited for.
        """
        target = self.start(config)
        config = self._seeing(config, *self._seen)
        before: list[Any] = [*first, Watch(self._others)]
        after: list[Any] = [*(chief_only_hooks if self.is_chief else ()), *hooks]
        if len(self.workers) > 1 and not self.steps_together:
            stop = StopTogether(decided, shared, self.is_chief)
            before.append(Farewell(stop, self._let_finish))
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
        """Say that this worker has ended; return when the chief has, its files written.

        A chief that does not answer is not waited for: it did not end as it should.
        """
        with self._marks() as marks:
            if not self.is_chief:
                marks.write(self.index, FINISHED)
                wait_until(GONE, self._workers[:1], marks)
            marks.write(self.index, GONE)

    def _let_finish(self) -> None:
        """For the chief, before its last checkpoint: the others' last steps belong into it."""
        if self.is_chief:
            with self._marks() as marks:
                wait_until(FINISHED, self._workers[1:], marks)

    def _marks(self) -> contextlib.AbstractContextManager[Marks]:
        return self._attendance(self._seeing(tf.ConfigProto(), *self._seen)).open()

    def _needed(self) -> list[Peer]:
        """Return who must be there before a session can be."""
        if self.is_chief and self.steps_together:
            return [*self._servers, *self._workers[1:]]
        return self._servers

    def _attendance(self, config: tf.ConfigProto, server: int | None = None) -> Attendance:
        servers = range(len(self.ps)) if server is None else [server]
        target = self.start(config)
        return Attendance(target, config, self._container, servers, len(self.workers))

    @staticmethod
    def _seeing(config: tf.ConfigProto, *devices: str) -> tf.ConfigProto:
        """Return a configuration that needs no other processes: workers come and go."""
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
