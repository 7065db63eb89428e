"""A local TensorBoard with the scalar summaries of a running job, for a ``fit`` that waits.

The server reads the event files of the job. This module writes their values to local event files
for a TensorBoard of this machine. This also works with a remote server, and the script may write
its event files to any of its outputs.
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
from danlu.messages import get_message
from ti.exceptions import InvalidArguments
from ti.following import Terminal

if TYPE_CHECKING:
    from danlu.client import Client


class EventFileWriter:
    """An event file in a folder of its own. TensorBoard calls such a folder a run."""

    def __init__(self, folder: Path) -> None:
        # On use, because only fit() with TensorBoard needs them. Neither module imports TensorFlow.
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"events.out.tfevents.{int(time.time())}.danlu"
        self._event = Event
        self._file = RecordWriter(open(path, "ab", buffering=0))  # noqa: SIM115
        self._append(file_version="brain.Event:2", wall_time=time.time())

    def add(self, tag: str, step: int, at: float, value: float) -> None:
        scalar = {"tag": tag, "simple_value": value}
        self._append(step=step, wall_time=at, summary={"value": [scalar]})

    def close(self) -> None:
        self._file.close()

    def _append(self, **fields: Any) -> None:
        self._file.write(self._event(**fields).SerializeToString())


_INTERVAL = 2.0  # seconds between two requests for the curves
_TIMEOUT = 60.0  # seconds TensorBoard may take to start
# The program exits when its standard input is closed, so it cannot outlive a client that is killed.
# If the module tensorboard.compat.notf exists, TensorBoard uses its own stub instead of TensorFlow
# (tensorboard/compat/__init__.py).
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
    """Check that TensorBoard can be started.

    Raises:
        InvalidArguments: ``wait`` is not set.
        Refused: TensorBoard is not installed.
    """
    if not wait:
        sentence = get_message("ti.board_wait")
        raise InvalidArguments([("run_tensorboard_locally", sentence)])
    if find_spec("tensorboard") is None:
        raise Refused.from_key("ti.no_board")


@contextlib.contextmanager
def shown(client: "Client", job_name: str, *, several: bool) -> Iterator[str]:
    """Serve the curves of a job with TensorBoard while the body runs; print and yield the URL.

    With ``several``, the names of runs start with the names of their tasks. If TensorBoard does
    not start, the error is printed and the URL is empty, because the job is already running.
    """
    with tempfile.TemporaryDirectory(prefix="danlu-tensorboard-") as folder:
        process = _start(folder)
        copying = _Copying(client, job_name, Path(folder), several)
        try:
            url = _read_url(process)
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


def _read_url(process: "subprocess.Popen[bytes]") -> str:
    try:
        url = _url(process)
    except Unavailable as error:
        Terminal().line(str(error))
        return ""
    Terminal().line(f"TensorBoard: {url}")
    return url


def _start(folder: str) -> "subprocess.Popen[bytes]":
    options = ["--logdir", folder, "--host", "127.0.0.1", "--port", "0", "--load_fast", "false"]
    # TensorBoard must not run as the script of a task, even if the program that calls fit() does.
    env = {name: value for name, value in os.environ.items() if not name.startswith("DANLU_")}
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *options, "--reload_interval", "2"],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _url(process: "subprocess.Popen[bytes]") -> str:
    """Return the URL that TensorBoard prints to stderr. Its later output is discarded.

    Raises:
        Unavailable: TensorBoard did not start.
    """
    assert process.stderr is not None
    output, until = b"", time.monotonic() + _TIMEOUT
    while time.monotonic() < until:
        ready, _, _ = select.select([process.stderr], [], [], 1.0)
        piece = os.read(process.stderr.fileno(), 65_536) if ready else None
        if piece == b"":
            break
        output += piece or b""
        for word in output.split():
            if word.startswith(b"http://") and output.rpartition(word)[2][:1].isspace():
                threading.Thread(target=process.stderr.read, daemon=True).start()
                return word.decode()
    last = output.decode(errors="replace").strip().splitlines()[-1:]
    raise Unavailable.from_key("ti.board_failed", hint="".join(last))


class _Copying:
    """A thread that writes the points of a job's curves to event files, each once."""

    def __init__(self, client: "Client", job_name: str, folder: Path, several: bool) -> None:
        self._client = client
        self._job_name = job_name
        self._folder = folder
        self._several = several
        self._files: dict[str, EventFileWriter] = {}
        self._written: set[tuple[str, str, int, float]] = set()
        self._done = threading.Event()
        self.thread = threading.Thread(target=self._run, name="ti-tensorboard", daemon=True)

    def end(self) -> None:
        self._done.set()
        if self.thread.is_alive():
            self.thread.join(10)
        for file in self._files.values():
            file.close()

    def _run(self) -> None:
        # Errors are ignored. The thread that prints the output of the job reports them.
        with contextlib.suppress(DanluError, OSError):
            while not self._done.is_set():
                for curve in self._client.curves(self._job_name)["curves"]:
                    self._write(curve)
                self._done.wait(_INTERVAL)

    def _write(self, curve: Mapping[str, Any]) -> None:
        run = f"{curve['task']}/{curve['run']}" if self._several else curve["run"]
        for step, at, value in curve["points"]:
            point = (run, curve["tag"], step, at)
            if point in self._written:
                continue
            self._written.add(point)
            if run not in self._files:
                self._files[run] = EventFileWriter(self._folder / run)
            self._files[run].add(curve["tag"], step, at, _number(value))


def _number(value: "float | str") -> float:
    """Return a value as a float. NaN and infinities are text, because JSON cannot express them."""
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(
        str(value), math.nan if isinstance(value, str) else value
    )
