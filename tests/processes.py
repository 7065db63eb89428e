"""Clusters of real processes on this machine, forked from one that has TensorFlow imported."""

import os
import pickle
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


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

    def waits(self, seconds: float = 150) -> int:
        """Return the exit code once the process has ended."""
        until(lambda: self.poll() is not None, seconds, self)
        assert self.code is not None
        return self.code

    def wait_for_output(self, words: str, seconds: float = 150) -> None:
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

    def end(self) -> None:
        """End all processes, and print their output."""
        for task in self.tasks:
            task.kill()
            print(f"--- {task.log.name}: exit code {task.code}\n{task.text}")

    def begin(
        self, job: str, index: int, program: Callable[[], Any], *words: str, **flags: Any
    ) -> Task:
        """Start ``program`` as a process that has the flags of its place in the cluster."""
        reported = {
            "job_name": job,
            "task_index": index,
            "ps_hosts": ",".join(self.ps),
            "worker_hosts": ",".join(self.workers),
            **flags,
        }
        number = len(self.tasks)
        log, answer = (self.folder / f"{job}_{index}_{number}.{each}" for each in ("log", "value"))
        argv = ["train.py", *words, *(f"--{name}={value}" for name, value in reported.items())]
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


def joined_cluster() -> tuple[Any, int, Any]:
    """Join as programs of TensorFlow 1 do; return the server, this worker's index, the devices.

    A ps does not return.
    """
    import tensorflow.compat.v1 as tf

    flags = tf.flags
    flags.DEFINE_string("job_name", "", "")
    flags.DEFINE_integer("task_index", 0, "")
    flags.DEFINE_list("ps_hosts", [], "")
    flags.DEFINE_list("worker_hosts", [], "")
    given = flags.FLAGS
    index = given.task_index
    cluster = tf.train.ClusterSpec({"ps": given.ps_hosts, "worker": given.worker_hosts})
    server = tf.train.Server(cluster, job_name=given.job_name, task_index=index)
    if given.job_name == "ps":
        server.join()
    place = tf.train.replica_device_setter(
        worker_device=f"/job:worker/task:{index}", cluster=cluster
    )
    return server, index, place
