"""What ``flood.py`` runs as a job: a trainer with much output, and the time that it costs.

Standard output is turned in this one process, from turn to turn: to the pipe of the job, to
/dev/null, to a file, to ``cat`` that writes a file. So the same loop on the same machine is
compared with itself.

    --turns=steps:job,lines:cat,... --folder=DIR     writes DIR/times.json
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

SINKS = ("job", "null", "file", "cat")
CALM = 0.2  # seconds between two turns, so that readers can finish
STEPS = 50
LINES = 100_000
MEGABYTES = 100
CPUS = os.cpu_count() or 1
DATA = bytes(4 << 20)
POOL = ThreadPoolExecutor(CPUS)


def steps() -> None:
    """A training: some milliseconds of every core, and a line."""
    for step in range(STEPS):
        list(POOL.map(hashlib.sha256, [DATA] * CPUS))
        print(f"INFO:tensorflow:loss = {1 / (step + 1):.7f}, step = {step} (0.012 sec)")


def lines() -> None:
    for number in range(LINES):
        print(f"step {number} loss 0.12345 accuracy 0.98765 learning rate 0.001 images/s 1234.5")


def line() -> None:
    """One line of many megabytes."""
    piece = "x" * (1 << 20)
    for _ in range(MEGABYTES):
        sys.stdout.write(piece)
    print()


def bars() -> None:
    for number in range(LINES):
        sys.stdout.write(f"\r{number}/{LINES} [==========>.........] - ETA: 12s - loss: 0.1234")
        sys.stdout.flush()
    print()


KINDS: dict[str, Callable[[], None]] = {"steps": steps, "lines": lines, "line": line, "bars": bars}


@contextmanager
def turned(sink: str, folder: Path) -> Iterator[None]:
    """Let standard output go elsewhere for a while."""
    own = os.dup(1)
    path = folder / "output"
    process = None
    if sink == "null":
        handle = os.open(os.devnull, os.O_WRONLY)
    elif sink == "file":
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    elif sink == "cat":
        handle, process = _cat(path)
    else:
        handle = os.dup(own)
    os.dup2(handle, 1)
    os.close(handle)
    try:
        yield
    finally:
        os.dup2(own, 1)
        os.close(own)
        if process is not None:
            process.wait()
        path.unlink(missing_ok=True)


def _cat(path: Path) -> "tuple[int, subprocess.Popen[bytes]]":
    read, write = os.pipe()
    with open(path, "wb") as to:
        process = subprocess.Popen(["cat"], stdin=read, stdout=to)
    os.close(read)
    return write, process


def seconds(kind: str, sink: str, folder: Path) -> float:
    with turned(sink, folder):
        time.sleep(CALM)
        began = time.perf_counter()
        KINDS[kind]()
        return time.perf_counter() - began


def main() -> None:
    given = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[1:])
    folder = Path(given["folder"])
    found: dict[str, list[float]] = {}
    for turn in given["turns"].split(","):
        kind, sink = turn.split(":")
        found.setdefault(turn, []).append(round(seconds(kind, sink, folder), 5))
    half = folder / "times.half"
    half.write_text(json.dumps(found), encoding="utf-8")
    half.replace(folder / "times.json")


if __name__ == "__main__":
    main()
