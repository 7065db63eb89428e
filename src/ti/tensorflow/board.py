"""TensorBoard beside a fit that waits: the numbers a job writes as summaries, while it runs.

The server reads a job's event files; here they are written again for a TensorBoard of this machine.
So it works with a server elsewhere too, and wherever among its outputs the script writes them.
"""

import contextlib
import math
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from danlu.errors import DanluError, Refused, Unavailable
from ti.exceptions import InvalidArguments
from ti.tensorflow.events import EventFile
from ti.terminal import Terminal

if TYPE_CHECKING:
    from danlu.client import Client

_EVERY = 2.0  # seconds between two looks at the curves
_PATIENCE = 60.0  # seconds TensorBoard may take to start
# Ends with its standard input, so that it cannot outlive a client that is killed. A module of that
# name makes it use a few lines of its own instead of TensorFlow (tensorboard/compat/__init__.py).
_PROGRAM = """
import os, sys, threading, types
def leave():
    sys.stdin.buffer.read()
    os._exit(0)
threading.Thread(target=leave, daemon=True).start()
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")
from tensorboard.main import run_main
run_main()
"""


def check(wait: bool) -> None:
    """Raises: InvalidArguments, Refused where there can be no TensorBoard."""
    if not wait:
        sentence = "needs wait=True: TensorBoard ends with fit()."
        raise InvalidArguments([("run_tensorboard_locally", sentence)])
    if find_spec("tensorboard") is None:
        raise Refused(
            "TensorBoard is not installed here.",
            hint="pip install tensorboard, or leave run_tensorboard_locally out.",
        )


@contextlib.contextmanager
def shown(client: "Client", job_name: str, *, several: bool) -> Iterator[str]:
    """Serve the curves of a job while the body runs, and say where; yields the URL.

    ``several``: runs are told apart by the names of their tasks. The job has begun already: where
    TensorBoard does not start, that is said, and the URL is empty.
    """
    with tempfile.TemporaryDirectory(prefix="danlu-tensorboard-") as folder:
        process = _start(folder)
        copying = _Copying(client, job_name, Path(folder), several)
        try:
            url = _told_url(process)
            if url:
                copying.thread.start()
            yield url
        finally:
            copying.end()
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()


def _told_url(process: "subprocess.Popen[bytes]") -> str:
    try:
        url = _url(process)
    except Unavailable as error:
        Terminal().line(str(error))
        return ""
    Terminal().line(f"TensorBoard: {url}")
    return url


def _start(folder: str) -> "subprocess.Popen[bytes]":
    options = ["--logdir", folder, "--host", "127.0.0.1", "--port", "0", "--load_fast", "false"]
    # TensorBoard is no script of a task, though the program that calls fit() may be run as one.
    env = {name: value for name, value in os.environ.items() if not name.startswith("DANLU_")}
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *options, "--reload_interval", "2"],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _url(process: "subprocess.Popen[bytes]") -> str:
    """Return where it listens, as it says itself; what else it says is for nobody."""
    assert process.stderr is not None
    said, until = b"", time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        ready, _, _ = select.select([process.stderr], [], [], 1.0)
        piece = os.read(process.stderr.fileno(), 65_536) if ready else None
        if piece == b"":
            break
        said += piece or b""
        for word in said.split():
            if word.startswith(b"http://") and said.rpartition(word)[2][:1].isspace():
                threading.Thread(target=process.stderr.read, daemon=True).start()
                return word.decode()
    last = said.decode(errors="replace").strip().splitlines()[-1:]
    raise Unavailable("TensorBoard did not start.", hint="".join(last))


class _Copying:
    """Writes the points of a job's curves to event files, each once."""

    def __init__(self, client: "Client", job_name: str, folder: Path, several: bool) -> None:
        self._client = client
        self._job_name = job_name
        self._folder = folder
        self._several = several
        self._files: dict[str, EventFile] = {}
        self._written: set[tuple[str, str, int, float]] = set()
        self._done = threading.Event()
        self.thread = threading.Thread(target=self._run, name="ti-tensorboard", daemon=True)

    def end(self) -> None:
        self._done.set()
        if self.thread.is_alive():
            self.thread.join(10)

    def _run(self) -> None:
        # Trouble with the curves is not worth a word: who reads the output tells of it.
        with contextlib.suppress(DanluError, OSError):
            while not self._done.is_set():
                for curve in self._client.curves(self._job_name)["curves"]:
                    self._write(curve)
                self._done.wait(_EVERY)

    def _write(self, curve: Mapping[str, Any]) -> None:
        run = f"{curve['task']}/{curve['run']}" if self._several else curve["run"]
        for step, at, value in curve["points"]:
            point = (run, curve["tag"], step, at)
            if point in self._written:
                continue
            self._written.add(point)
            if run not in self._files:
                self._files[run] = EventFile(self._folder / run)
            self._files[run].add(curve["tag"], step, at, _number(value))


def _number(value: "float | str") -> float:
    """JSON has no number for three of them."""
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(
        str(value), math.nan if isinstance(value, str) else value
    )
