"""The cost of log output: the loop of a job compared with the same loop without output.

A normal training, a line at each step of some milliseconds of every core, is compared with one
whose output goes to /dev/null. One that floods (lines, one long line, bars that draw themselves
again) is compared with one whose output ``cat`` writes to a file: any tool that
stores output reads it from a pipe. Turn by turn within one process, while a client follows the
log; the medians count. Then: the last lines of that log, and what the server grew by.

    python bench/flood.py [--rounds 5]     writes bench/results/flood.json
"""

import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flood_script import KINDS, SINKS
from reports import Rounds, arguments, judged, written

from danlu.client import bundle, connect
from danlu.client.api import Client
from danlu.client.background import bring_down
from danlu.settings import Settings, load

SCRIPT = Path(__file__).with_name("flood_script.py")
TURNS = {"steps": 8}  # in a round: short ones, for other people's processes come and go
TAILS = 20
# The most that a number may be: times of the other, seconds, megabytes.
BARS = {
    "steps_by_null": 1.05,
    "lines_by_cat": 1.5,
    "line_by_cat": 1.5,
    "bars_by_cat": 1.5,
    "tail_seconds": 0.2,
    "server_grew_megabytes": 50.0,
}


def main() -> int:
    given = arguments(__doc__).parse_args()
    rounds = Rounds(given.rounds, given.seed)
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        found = measure(Path(folder), rounds)
    what = "seconds of a loop that prints, as a job and with its output elsewhere"
    report = written("flood", what, rounds, **summary(found))
    for name, value in report["medians"].items():
        print(f"{name:24} {value:9.4f}")
    for name, row in report["bars"].items():
        print(f"{name:24} {row['value']:9.3f}  bar {row['bar']:g}", "" if row["held"] else "!")
    return 0 if report["held"] else 1


def measure(folder: Path, rounds: Rounds) -> dict[str, list[float]]:
    os.environ["DANLU_WARM"] = "off"  # the server inherits it
    settings = load({"home": folder / "home"})
    client = connect(settings)
    found: dict[str, list[float]] = {}
    ways = [f"{kind}:{sink}" for kind in KINDS for sink in SINKS for _ in range(TURNS.get(kind, 1))]
    try:
        before = memory(settings, "VmRSS")
        for turns in rounds.turns(ways):
            job = run(client, settings, turns, folder)
            for turn, tries in times_of(folder).items():
                found.setdefault(turn.replace(":", "_"), []).extend(tries)
            found.setdefault("tail_seconds", []).extend(tail(client, job) for _ in range(TAILS))
        found["server_grew_megabytes"] = [(memory(settings, "VmHWM") - before) / 1e6]
    finally:
        client.close()
        bring_down(settings)
    return found


def run(client: Client, settings: Settings, turns: Sequence[str], folder: Path) -> str:
    """Run the trainer while a client follows its log."""
    with bundle.packed(bundle.select(SCRIPT, settings)) as archive:
        code = client.upload_code(archive)
    request = {
        "dialect": "modelarts",
        "code_dir": code,
        "boot_file": SCRIPT.name,
        "parameters": {"turns": ",".join(turns), "folder": str(folder)},
    }
    job = str(client.submit(request)["id"])
    for _ in client.follow(job):
        pass
    if client.wait(job)["state"] != "succeeded":
        raise RuntimeError(f"The job {job} did not succeed.")
    return job


def times_of(folder: Path) -> Mapping[str, Sequence[float]]:
    found: dict[str, list[float]] = json.loads((folder / "times.json").read_text(encoding="utf-8"))
    return found


def tail(client: Client, job: str) -> float:
    """Return how long the last lines of a long log take."""
    began = time.monotonic()
    client.lines(job, tail=100)
    return round(time.monotonic() - began, 5)


def memory(settings: Settings, field: str) -> int:
    """Return bytes that the server has, or has had at most."""
    server = json.loads((settings.home / "server.json").read_text(encoding="utf-8"))
    status = Path(f"/proc/{server['pid']}/status").read_text()
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    if found is None:
        raise RuntimeError(f"The server reports no {field}.")
    return int(found[1]) << 10


def summary(found: dict[str, list[float]]) -> dict[str, Any]:
    medians = {name: round(statistics.median(tries), 4) for name, tries in found.items()}
    values = dict(medians)
    for name in BARS:
        kind, _, other = name.partition("_by_")
        if other:
            values[name] = medians[f"{kind}_job"] / medians[f"{kind}_{other}"]
    bars = judged(values, BARS)
    return {
        "medians": medians,
        "bars": bars,
        "held": all(row["held"] for row in bars.values()),
        "tries": found,
    }


if __name__ == "__main__":
    sys.exit(main())
