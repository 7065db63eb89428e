"""How soon a script has TensorFlow: with a process that waits for it, and without, in one run.

From the call of a program that is up to the first line after ``import tensorflow``, and to the
end of the job; then four jobs at once. In turns, in an order that the seed shuffles anew each
round; the median of all tries counts.

    python bench/warm.py [--rounds 5]     writes bench/results/warm.json
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reports import Rounds, arguments, judged, written

from danlu.client import bundle, connect
from danlu.client.background import bring_down
from danlu.settings import load

COLD, WARM, PYTHON = "cold", "warm", "python"
AT_ONCE = 4
TIMEOUT = 120.0
# The most that a number may be, or the least.
BARS = {"warm_seconds": 1.0, "cold_by_warm": 3.0}
AT_LEAST = {"cold_by_warm"}
SCRIPT = """import tensorflow as tf
import time

first = time.monotonic()
with open({folder!r} + "/" + repr(first), "w"):
    pass
"""


class Desk:
    """A server of its own, with or without a waiting process, and one script."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / name
        self.report = self.folder / "moments"
        self.report.mkdir(parents=True)
        self.script = self.folder / "first.py"
        self.script.write_text(SCRIPT.format(folder=str(self.report)), encoding="utf-8")
        os.environ["DANLU_WARM"] = "1" if name == WARM else "off"  # the server inherits it
        self.settings = load({"home": self.folder / "home"})
        self.client = connect(self.settings)
        with bundle.packed(bundle.select(self.script, self.settings)) as archive:
            uri = self.client.upload_code(archive)
        self.request = {
            "dialect": "modelarts",
            "code_dir": uri,
            "boot_file": self.script.name,
            "framework_version": "1.15",
        }

    def run(self, count: int = 1) -> tuple[float, float]:
        """Return the seconds until all have TensorFlow, and until all have ended."""
        began = time.monotonic()
        for name in [self.client.submit(self.request)["id"] for _ in range(count)]:
            if self.client.wait(name)["state"] != "succeeded":
                raise RuntimeError(f"The job {name} did not succeed.")
        ended = time.monotonic()
        moments = [float(path.name) for path in self.report.iterdir()]
        for path in self.report.iterdir():
            path.unlink()
        if len(moments) != count:
            raise RuntimeError(f"{len(moments)} of {count} scripts reported when they ran.")
        return max(moments) - began, ended - began

    def waiting(self) -> int:
        """Return the process that waits, once it does."""
        deadline = time.monotonic() + TIMEOUT
        while not list(self.settings.home.glob("warm/*.sock")):
            if time.monotonic() > deadline:
                raise RuntimeError(f"No process waits in {self.settings.home}.")
            time.sleep(0.05)
        words = f"--wait\0{self.settings.home / 'warm'}\0".encode()
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            if words in path.read_bytes():
                return int(path.parent.name)
        raise RuntimeError("The process that waited is gone.")

    def close(self) -> None:
        self.client.close()
        bring_down(self.settings)


def main() -> int:
    given = arguments(__doc__).parse_args()
    rounds = Rounds(given.rounds, given.seed)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        found = measure(Path(folder), rounds)
    what = "median seconds from submit to the first line after import tensorflow"
    report = written("warm", what, rounds, **summary(found))
    for name, value in report["medians"].items():
        print(f"{name:20} {value:8.3f}")
    for name, row in report["bars"].items():
        print(f"{name:20} {row['value']:8.3f}  bar {row['bar']:g}", "" if row["held"] else "!")
    return 0 if report["held"] else 1


def measure(folder: Path, rounds: Rounds) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    desks = {name: Desk(folder, name) for name in (COLD, WARM)}

    def add(name: str, value: float) -> None:
        found.setdefault(name, []).append(round(value, 4))

    try:
        for desk in desks.values():
            desk.run()  # not counted: fills caches, and requests a warm process
        began = time.monotonic()
        pid = desks[WARM].waiting()
        add("ready_seconds", time.monotonic() - began)
        ways: list[Any] = [COLD, WARM, PYTHON, (COLD, AT_ONCE), (WARM, AT_ONCE)]
        for turns in rounds.turns(ways):
            for turn in turns:
                _turn(desks, turn, add)
        add("own_megabytes", private(pid) / 1e6)
    finally:
        for desk in desks.values():
            desk.close()
    return found


def _turn(desks: dict[str, Desk], turn: Any, add: Any) -> None:
    if turn == PYTHON:
        add("python_seconds", bare(desks[COLD]))
    elif isinstance(turn, tuple):
        name, count = turn
        add(f"{name}_{count}_at_once", desks[name].run(count)[1])
    else:
        first, whole = desks[turn].run()
        add(f"{turn}_seconds", first)
        add(f"{turn}_whole_seconds", whole)


def bare(desk: Desk) -> float:
    """Return what Python alone takes for the same script."""
    began = time.monotonic()
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "TF_USE_LEGACY_KERAS": "1"}
    command: Sequence[str] = [sys.executable, str(desk.script)]
    subprocess.run(command, env=env, check=True, stderr=subprocess.DEVNULL)
    (path,) = desk.report.iterdir()
    path.unlink()
    return float(path.name) - began


def private(pid: int) -> int:
    """Return the bytes that this process alone has; libraries of TensorFlow are shared."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Private_Dirty"))


def summary(found: dict[str, list[float]]) -> dict[str, Any]:
    medians = {name: round(statistics.median(tries), 4) for name, tries in found.items()}
    values = medians | {"cold_by_warm": round(medians["cold_seconds"] / medians["warm_seconds"], 2)}
    bars = judged(values, BARS, AT_LEAST)
    return {
        "medians": medians,
        "bars": bars,
        "held": all(row["held"] for row in bars.values()),
        "tries": found,
    }


if __name__ == "__main__":
    sys.exit(main())
