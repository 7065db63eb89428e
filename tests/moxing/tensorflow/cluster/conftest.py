"""Clusters of real processes on this machine, forked from one that has TensorFlow imported."""

import os
import pickle
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest


class Task:
    """One process of a cluster. ``value`` is what its program returned."""

    def __init__(self, pid: int, log: Path, answer: Path) -> None:
        self.pid = pid
        self.log = log
        self._answer = answer
        self.code: int | None = None

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def value(self) -> Any:
        return pickle.loads(self._answer.read_bytes())

    def poll(self) -> int | None:
        if self.code is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def waits(self, seconds: float = 30) -> int:
        """Return the exit code once the process has ended."""
        until(lambda: self.poll() is not None, seconds, self)
        assert self.code is not None
        return self.code

    def says(self, words: str, seconds: float = 30) -> None:
        """Wait for words in the log."""
        until(lambda: words in self.text or self.poll() is not None, seconds, self)
        assert words in self.text, self.text

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)
            self.waits()


class Site:
    """Where a cluster is started: ``ps`` and ``workers`` are its addresses."""

    def __init__(self, folder: Path, workers: int = 2, ps: int = 1) -> None:
        self.folder = folder
        ports = iter(free_ports(workers + ps))
        self.ps = [f"127.0.0.1:{next(ports)}" for _ in range(ps)]
        self.workers = [f"127.0.0.1:{next(ports)}" for _ in range(workers)]
        self.tasks: list[Task] = []

    def training(self, **wanted: Any) -> "Training":
        return Training(self.folder, **wanted)

    @property
    def weights(self) -> dict[str, Any]:
        """The variables of the last checkpoint."""
        return weights_of(self.folder / "checkpoints")

    def begin(
        self, job: str, index: int, program: Callable[[], Any], *words: str, **flags: Any
    ) -> Task:
        """Start ``program`` as a process that has the flags of its place in the cluster."""
        told = {
            "job_name": job,
            "task_index": index,
            "ps_hosts": ",".join(self.ps),
            "worker_hosts": ",".join(self.workers),
            **flags,
        }
        number = len(self.tasks)
        log, answer = (self.folder / f"{job}_{index}_{number}.{each}" for each in ("log", "value"))
        argv = ["train.py", *words, *(f"--{name}={value}" for name, value in told.items())]
        pid = os.fork()
        if pid == 0:
            os._exit(_run(program, argv, log, answer))
        task = Task(pid, log, answer)
        log.touch()
        self.tasks.append(task)
        return task

    def begin_all(self, program: Callable[[], Any], **flags: Any) -> tuple[list[Task], list[Task]]:
        """Start every process; return the servers and the workers."""
        servers = [self.begin("ps", index, program, **flags) for index in range(len(self.ps))]
        workers = [
            self.begin("worker", index, program, **flags) for index in range(len(self.workers))
        ]
        return servers, workers


def until(condition: Callable[[], Any], seconds: float, task: Task | None = None) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"It did not come true in time.\n{task.text if task else ''}")
        time.sleep(0.02)


def free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def _run(program: Callable[[], Any], argv: list[str], log: Path, answer: Path) -> int:
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout = os.fdopen(1, "w", 1, closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, closefd=False)
    sys.argv = argv
    from tensorflow.compat.v1 import logging

    logging.set_verbosity(logging.INFO)
    try:
        value = program()
        answer.write_bytes(pickle.dumps(value))
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


class Training:
    """A small program of a worker or a server, as a user would write it by hand.

    ``rows``: how many batches each worker has. A worker returns the global steps it saw. The chief
    also ends when there is a file named ``enough`` in the folder.
    """

    def __init__(
        self,
        folder: Path,
        optimizer: str = "sgd",
        batch: int = 4,
        steps: int = 12,
        rows: tuple[int, ...] = (),
        rare: bool = False,
        saved: bool = False,
    ) -> None:
        self.folder = folder
        self.optimizer = optimizer
        self.batch = batch
        self.steps = steps
        self.rows = rows
        self.rare = rare
        self.saved = folder / "checkpoints" if saved else None

    def end(self) -> None:
        (self.folder / "enough").touch()

    def __call__(self) -> Any:
        import tensorflow.compat.v1 as tf

        from moxing.tensorflow.executor.cluster import Cluster

        cluster = Cluster.of_flags()
        assert cluster is not None
        if cluster.is_server:
            cluster.serve()
            return None
        with tf.Graph().as_default(), cluster.building():
            return self._train(cluster)

    def _train(self, cluster: Any) -> Any:
        import tensorflow.compat.v1 as tf

        step = tf.train.get_or_create_global_step()
        data = tf.data.make_initializable_iterator(self._data(cluster, tf))
        loss = self._model(data.get_next(), tf)
        optimizer, hooks = cluster.synchronized(_OPTIMIZERS[self.optimizer](tf))
        train = optimizer.apply_gradients(optimizer.compute_gradients(loss), step)
        with tf.control_dependencies([train]):
            done = step.read_value()
        scaffold = tf.train.Scaffold(
            local_init_op=tf.group(tf.local_variables_initializer(), data.initializer),
            init_fn=self._restore,
            saver=tf.train.Saver(),
        )
        self._saver = scaffold.saver
        saving = []
        if self.saved:
            saving = [
                tf.train.CheckpointSaverHook(str(self.saved), save_steps=5, saver=self._saver)
            ]
        seen: list[int] = []
        folder = str(self.saved) if self.saved else None
        config = tf.ConfigProto(allow_soft_placement=True)
        with cluster.session(scaffold, config, hooks, saving, folder) as session:
            print("ready", flush=True)
            while not self._is_over(seen, cluster, session):
                seen.append(int(session.run(done)))
                print(f"step {seen[-1]}.", flush=True)
        cluster.leave()
        return seen

    def _is_over(self, seen: list[int], cluster: Any, session: Any) -> bool:
        told = cluster.is_chief and (self.folder / "enough").exists()
        return told or session.should_stop() or (seen and seen[-1] >= self.steps)

    def _data(self, cluster: Any, tf: Any) -> Any:
        """A whole batch is cut into the parts of the workers."""
        random = np.random.RandomState(7)
        workers = len(cluster.workers)
        x = random.rand(40, self.batch * workers, 4).astype(np.float32)
        y = (x @ np.array([1.0, -2.0, 0.5, 3.0], np.float32))[..., None]
        rows = random.randint(0, 9, [40, self.batch * workers])
        part = slice(cluster.index * self.batch, (cluster.index + 1) * self.batch)
        data = tf.data.Dataset.from_tensor_slices((x[:, part], y[:, part], rows[:, part]))
        return data.take(self.rows[cluster.index]) if self.rows else data.repeat()

    def _model(self, batch: Any, tf: Any) -> Any:
        x, y, rows = batch
        zeros = tf.zeros_initializer()
        weights = tf.get_variable("weights", [4, 1], initializer=zeros, use_resource=True)
        guess = x @ weights
        if self.rare:
            table = tf.get_variable("table", [9, 1], initializer=zeros, use_resource=True)
            guess += tf.gather(table, rows)
        return tf.reduce_mean(tf.square(guess - y))

    def _restore(self, scaffold: Any, session: Any) -> None:
        import tensorflow.compat.v1 as tf

        found = self.saved and tf.train.latest_checkpoint(str(self.saved))
        if found:
            self._saver.restore(session, found)


_OPTIMIZERS = {
    "sgd": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.05, 0.9),
    "adam": lambda tf: tf.train.AdamOptimizer(0.05),
}


def weights_of(folder: Path) -> dict[str, Any]:
    """Return the variables of the last checkpoint in a folder."""
    import tensorflow.compat.v1 as tf

    reader = tf.train.load_checkpoint(str(folder))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


@pytest.fixture
def new_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    made: list[Site] = []

    def make(workers: int = 2, ps: int = 1) -> Site:
        folder = tmp_path / f"site_{len(made)}"
        folder.mkdir()
        made.append(Site(folder, workers, ps))
        return made[-1]

    yield make
    for site in made:
        for task in site.tasks:
            task.kill()
            print(f"--- {task.log.name}: exit code {task.code}\n{task.text}")


@pytest.fixture
def site(new_site: Callable[..., Site]) -> Site:
    return new_site()
