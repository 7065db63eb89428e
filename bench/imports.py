"""CPU time of common imports and commands, compared with a bare Python in the same run.

Each command is a fresh process with compiled bytecode. Commands take turns, so that a slow moment
of the machine meets all of them, and the best of many rounds counts: what is left is the work.
The ratio is what compares between machines; the bar, 0.15 s of CPU, is shown beside it.

    python bench/imports.py [--rounds 20]     writes bench/results/imports.json
"""

import os
import resource
import subprocess
import sys

from reports import Rounds, arguments, written

BAR = 0.15
COMMANDS: dict[str, list[str]] = {
    "python": ["-c", "pass"],
    "import danlu": ["-c", "import danlu"],
    "import ti": ["-c", "import ti"],
    "import moxing": ["-c", "import moxing"],
    "danlu --help": ["-c", "from danlu.cli.main import main; main(['--help'])"],
}


def cpu_seconds(args: list[str]) -> float:
    """Return user and system time of one process, which must end well."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *args], check=True, stdout=subprocess.DEVNULL, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(rounds: Rounds) -> dict[str, float]:
    """Return the best time of each command. A first round, not counted, compiles bytecode."""
    for args in COMMANDS.values():
        cpu_seconds(args)
    best = dict.fromkeys(COMMANDS, float("inf"))
    for turns in rounds.turns(COMMANDS):
        for name in turns:
            best[name] = min(best[name], cpu_seconds(COMMANDS[name]))
    return best


def main() -> int:
    given = arguments(__doc__, rounds=20).parse_args()
    rounds = Rounds(given.rounds, given.seed)
    best = measure(rounds)
    rows = {
        name: {
            "cpu_seconds": round(seconds, 4),
            "ratio": round(seconds / best["python"], 2),
            "under_bar": seconds < BAR,
        }
        for name, seconds in best.items()
    }
    what = "CPU seconds of a fresh process, best of the rounds"
    written("imports", what, rounds, bar_seconds=BAR, commands=rows)
    for name, row in rows.items():
        print(f"{name:16} {row['cpu_seconds']:.3f} s  {row['ratio']:5.2f} x")
    return 0 if all(row["under_bar"] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
