"""What Danlu costs on a Ray cluster: beside ``ray job submit`` of the same script, in one run.

One cluster of one node, started by ``danlu up --ray``; both commands in turns. From the command
to the script's first line, from its last line until the command returns, and the speed of a loop
inside. Not named ray.py: every script beside it would import that one for Ray.

    python bench/on_ray.py [--rounds 5]     writes bench/results/on_ray.json
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from reports import Rounds, arguments, written

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from contracts.s3_server import ACCESS, SECRET, SmallS3, serve

BIN = Path(sys.executable).parent
TIMEOUT = 120.0
BAR = 1.0  # the most of ours to theirs, of the sum of what is waited for
SCRIPT = """
import json, os, sys, time
first = time.monotonic()
print("first line", flush=True)
began, total = time.process_time(), 0
for number in range(3_000_000):
    total += number * number
loop = time.process_time() - began
with open({moments!r} + ".tmp", "w") as file:
    json.dump([first, time.monotonic(), loop], file)
os.rename({moments!r} + ".tmp", {moments!r})
"""
Tries = dict[str, dict[str, list[float]]]


def main() -> int:
    given = arguments(__doc__).parse_args()
    rounds = Rounds(given.rounds, given.seed)
    tries: Tries = {"danlu": {}, "ray job submit": {}}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, cluster(Path(folder)) as site:
        for name in tries:
            site.prepare(name)
        for turns in rounds.turns(tries):
            for name in turns:
                for what, seconds in site.run(name).items():
                    tries[name].setdefault(what, []).append(round(seconds, 4))
    what = (
        "median seconds of a trivial script on one Ray cluster: from the command to its first"
        " line, its loop, and from its last line until the command returned"
    )
    report = written("on_ray", what, rounds, ray=version("ray"), **summary(tries))
    for name, values in report["seconds"].items():
        print(f"{name:15}", *(f"{what} {value:.3f} s" for what, value in values.items()), sep="  ")
    print("ours to theirs:", report["ratio"])
    return 0 if report["held"] else 1


class Site:
    """A cluster, and the two commands to run a script on it."""

    def __init__(self, folder: Path, env: dict[str, str], dashboard: str) -> None:
        self._moments = folder / "moments.json"
        self._code = folder / "code"
        self._code.mkdir()
        script = SCRIPT.format(moments=str(self._moments))
        (self._code / "train.py").write_text(script, encoding="utf-8")
        self._env = env
        theirs = [str(BIN / "ray"), "job", "submit", "--address", dashboard]
        self._commands = {
            "danlu": [str(BIN / "danlu"), "run", str(self._code)],
            "ray job submit": [
                *theirs,
                *("--entrypoint-num-cpus", "1", "--working-dir", str(self._code)),
                *("--", sys.executable, "train.py"),
            ],
        }

    def prepare(self, name: str) -> None:
        """Run it once, not counted: fills caches, compiles; a cluster just begun may refuse it."""
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                self.run(name)
                return
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                time.sleep(1)

    def run(self, name: str) -> dict[str, float]:
        """Run the script; return how long each part took."""
        self._moments.unlink(missing_ok=True)
        began = time.monotonic()
        done = subprocess.run(
            self._commands[name], env=self._env, capture_output=True, text=True, check=False
        )
        ended = time.monotonic()
        if done.returncode or "first line" not in done.stdout + done.stderr:
            raise RuntimeError(f"{name} failed:\n{done.stdout}\n{done.stderr}")
        first, last, loop = json.loads(self._moments.read_bytes())
        return {"first_line": first - began, "loop": loop, "return": ended - last}


@contextmanager
def cluster(folder: Path) -> Iterator[Site]:
    """Start a store and a head with a server; end them afterwards."""
    with serve(SmallS3("bucket")) as url:
        home = folder / "home"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DANLU_", "RAY_"))}
        env = {
            **kept,
            "DANLU_HOME": str(home),
            "DANLU_NODE_HOME": str(folder / "node"),
            "DANLU_S3_ENDPOINT": url,
            "DANLU_S3_ACCESS_KEY": ACCESS,
            "DANLU_S3_SECRET_KEY": SECRET,
            "DANLU_CLUSTER_STORE": "s3://bucket/danlu",
        }
        subprocess.run([BIN / "danlu", "up", "--ray", "--port", "0"], env=env, check=True)
        try:
            log = re.sub(r"\x1b\[[0-9;]*m", "", (home / "ray" / "head.log").read_text())
            dashboard = re.search(r"RAY_API_SERVER_ADDRESS='([^']+)'", log)
            if dashboard is None:
                raise RuntimeError(f"the head has no dashboard:\n{log}")
            token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(home / "ray" / "token")}
            yield Site(folder, {**env, **token}, dashboard[1])
        finally:
            subprocess.run([BIN / "danlu", "down"], env=env, check=True)


def summary(tries: Tries) -> dict[str, Any]:
    """Return medians, and ours as parts of theirs."""
    middle = {
        name: {what: round(statistics.median(found), 4) for what, found in values.items()}
        for name, values in tries.items()
    }
    for values in middle.values():
        values["waited"] = round(values["first_line"] + values["return"], 4)
    theirs = middle["ray job submit"]
    ratio = {what: round(value / theirs[what], 3) for what, value in middle["danlu"].items()}
    return {
        "seconds": middle,
        "ratio": ratio,
        "bar": BAR,
        "held": ratio["waited"] <= BAR,
        "tries": tries,
    }


if __name__ == "__main__":
    sys.exit(main())
