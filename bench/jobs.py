"""How soon a job runs: ours beside the tools people use, and a bare Python, in one run.

From the call of a program that is up, and from a command typed, to the first line of a trivial
script; from its last line until the command returns; then what the server costs. In turns, in an
order that the seed shuffles anew each round; the median of all tries counts.

    python bench/jobs.py [--rounds 5] [--tools submitit,ray]     writes bench/results/jobs.json
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import job_server
from job_peers import OURS, PYTHON, VERSIONS, Tool, tools
from reports import Rounds, arguments, judged, written

TRIES = 5  # of ours in one round; the others take seconds
CALM = 0.3  # seconds before every try: what one tool leaves to be done is no burden of the next
REST = 10.0
# The most a number may be, or the least.
BARS = {
    "program_seconds": 0.15,
    "program_pythons": 5.0,
    "command_seconds": 0.25,
    "return_seconds": 0.1,
    "ready_seconds": 1.5,
    "resident_megabytes": 120.0,
    "rest_cpu_percent": 1.0,
    "page_seconds": 0.2,
    "jobs_a_second": 10.0,
}
AT_LEAST = {"jobs_a_second"}
Tries = dict[str, list[float]]


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rest", type=float, default=REST, help="seconds to watch an idle server")
    parser.add_argument("--tools", default="", help="ours and these only; nothing is written")
    given = parser.parse_args()
    rounds = Rounds(given.rounds, given.seed)
    only = given.tools.split(",") if given.tools else ()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        bench = Bench(Path(folder), only, given.rest)
        found = bench.run(rounds)
    report = {**summary(found), "left_out": bench.left_out}
    if not given.tools:
        what = "median seconds from submit to the first line of a trivial script, and what of ours"
        written("jobs", f"{what} is bound by a bar", rounds, **report)
    for row, values in report["seconds_to_first_line"].items():
        print(f"{row:10}", *(f"{name} {value:.3f} s" for name, value in values.items()), sep="  ")
    for name, ours in report["ours"].items():
        print(f"{name:20} {ours['value']:8.3f}  bar {ours['bar']:g}", "" if ours["held"] else "!")
    print("below every peer:", report["below_every_peer"])
    return 0 if report["held"] else 1


class Bench:
    def __init__(self, folder: Path, only: Sequence[str], rest: float) -> None:
        self._folder = folder
        self._rest = rest
        self._tools = tools(folder, only)
        self.left_out: list[str] = []
        self._tries: dict[str, Tries] = {name: {} for name in ("program", "command", "ours")}

    def run(self, rounds: Rounds) -> dict[str, Tries]:
        """Return what was measured, by kind and by name."""
        try:
            for tool in list(self._tools):
                self._get_ready(tool)
            script = self._tools[0].folder / "first.py"
            with job_server.many_known(self._folder, script) as client:
                for turns in rounds.turns(self._ways()):
                    for turn in turns:
                        time.sleep(CALM)
                        turn()
                    self._add("ours", "page_seconds", job_server.list_seconds(client))
                    shot = job_server.measure(self._folder, script, self._rest)
                    for name in shot.keys() & BARS.keys():
                        self._add("ours", name, shot[name])
        finally:
            for tool in self._tools:
                tool.close()
            subprocess.run([*self._tools[0].command[:1], "down"], env=self._tools[0].env)
        return self._tries

    def _get_ready(self, tool: Tool) -> None:
        """Start a tool and its first job, which is not counted; a tool that fails is left out."""
        try:
            tool.start()
            tool.by_program()
        except RuntimeError as error:
            if tool.name == OURS:
                raise
            print(f"left out: {error}", file=sys.stderr)
            self._tools.remove(tool)
            self.left_out.append(tool.name)

    def _ways(self) -> list[Callable[[], None]]:
        """Return what is done in a round: each tool's tries, however they are started."""
        ours = self._tools[0]
        turns: list[Callable[[], None]] = []
        for tool in self._tools:
            tries = TRIES if tool is ours else 1
            turns += [partial(self._program, tool)] * tries
            turns += [partial(self._command, tool)] * tries if tool.command else []
        return turns + [partial(self._bare, ours)] * TRIES

    def _program(self, tool: Tool) -> None:
        self._add("program", tool.name, tool.by_program())

    def _command(self, tool: Tool) -> None:
        began = time.monotonic()
        self._run(tool, tool.command)
        ended = time.monotonic()
        first, last = tool.moments()
        self._add("command", tool.name, first - began)
        if tool.name == OURS:
            self._add("ours", "return_seconds", ended - last)

    def _bare(self, ours: Tool) -> None:
        began = time.monotonic()
        self._run(ours, [ours.python, str(ours.folder / "first.py")])
        self._add("program", PYTHON, ours.moments()[0] - began)

    @staticmethod
    def _run(tool: Tool, command: Sequence[str]) -> None:
        with open(tool.log, "ab") as log:
            subprocess.run(
                command, env=tool.env, cwd=tool.folder, stdout=log, stderr=log, check=True
            )

    def _add(self, kind: str, name: str, value: float) -> None:
        self._tries[kind].setdefault(name, []).append(round(value, 4))


def summary(found: dict[str, Tries]) -> dict[str, Any]:
    """Return the report: medians, what ours may be, and whether it is."""
    middle = {
        kind: {name: round(statistics.median(tries), 4) for name, tries in found[kind].items()}
        for kind in ("program", "command", "ours")
    }
    values = middle["ours"] | {
        "program_seconds": middle["program"][OURS],
        "program_pythons": round(middle["program"][OURS] / middle["program"][PYTHON], 2),
        "command_seconds": middle["command"][OURS],
    }
    ours = judged(values, BARS, AT_LEAST)
    below = all(
        middle[kind][OURS] < value
        for kind in ("program", "command")
        for name, value in middle[kind].items()
        if name not in (OURS, PYTHON)
    )
    return {
        "peers": list(VERSIONS.values()),
        "known_jobs": job_server.KNOWN,
        "jobs_at_once": job_server.AT_ONCE,
        "seconds_to_first_line": {kind: middle[kind] for kind in ("program", "command")},
        "ours": ours,
        "below_every_peer": below,
        "held": below and all(row["held"] for row in ours.values()),
        "tries": found,
    }


if __name__ == "__main__":
    sys.exit(main())
