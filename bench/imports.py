"""CPU time of what everybody waits for, beside a bare Python in the same run.

Each command is a fresh process with compiled bytecode. Commands take turns, so that a slow moment
of the machine meets all of them, and the best of many rounds counts: what is left is the work.
The ratio is what compares between machines; the bar, 0.15 s of CPU, is shown beside it.

    python bench/imports.py [--rounds 20]     writes bench/results/imports.json
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

from environments import commit

BAR = 0.15
COMMANDS: dict[str, list[str]] = {
    "python": ["-c", "pass"],
    "import danlu": ["-c", "import danlu"],
    "import ti": ["-c", "import ti"],
    "import moxing": ["-c", "import moxing"],
    "danlu --help": ["-c", "from danlu.cli.main import main; main(['--help'])"],
}
RESULT = Path(__file__).parent / "results" / "imports.json"


def cpu_seconds(args: list[str]) -> float:
    """Return user and system time of one process, which must end well."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *args], check=True, stdout=subprocess.DEVNULL, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(rounds: int) -> dict[str, float]:
    """Return the best time of each command. A first round, not counted, compiles bytecode."""
    for args in COMMANDS.values():
        cpu_seconds(args)
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(rounds):
        for name, args in COMMANDS.items():
            best[name] = min(best[name], cpu_seconds(args))
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    best = measure(rounds)
    rows = {
        name: {
            "cpu_seconds": round(seconds, 4),
            "ratio": round(seconds / best["python"], 2),
            "under_bar": seconds < BAR,
        }
        for name, seconds in best.items()
    }
    report = {
        "what": "CPU seconds of a fresh process, best of the rounds",
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": commit(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
        "rounds": rounds,
        "bar_seconds": BAR,
        "commands": rows,
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    for name, row in rows.items():
        print(f"{name:16} {row['cpu_seconds']:.3f} s  {row['ratio']:5.2f} x")
    return 0 if all(row["under_bar"] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
