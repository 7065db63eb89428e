"""What all benches have in common: rounds in an order by chance, and the head of a report."""

import argparse
import json
import os
import platform
import random
import subprocess
import time
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

Turn = TypeVar("Turn")

RESULTS = Path(__file__).parent / "results"
# What a number depends on. Reports are not: one bench after another writes its own.
_MEASURED = ("src", "bench", "requirements", ":!bench/results")


class Rounds:
    """Rounds in which each entry runs once, in random order; records how busy the machine was."""

    def __init__(self, count: int, seed: int) -> None:
        self.count = count
        self.seed = seed
        self.loads: list[float] = []
        self._chance = random.Random(seed)

    def turns(self, entries: Iterable[Turn]) -> Iterator[list[Turn]]:
        """Yield every entry once a round, in a new order each time."""
        known = list(entries)
        for _ in range(self.count):
            self.loads.append(round(os.getloadavg()[0], 2))
            yield self._chance.sample(known, len(known))


def arguments(description: str, rounds: int = 5) -> argparse.ArgumentParser:
    """Return the options of every bench: the number of rounds and the seed of their order."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seed", type=int, default=0)
    return parser


def written(name: str, what: str, rounds: Rounds, **found: Any) -> dict[str, Any]:
    """Write the report of a bench, and return it."""
    report = {
        "what": what,
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": commit(),
        "seed": rounds.seed,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
        "rounds": len(rounds.loads),
        "load": rounds.loads,  # of the machine when each round began
        **found,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return report


def judged(
    values: Mapping[str, float], bars: Mapping[str, float], at_least: Container[str] = ()
) -> dict[str, dict[str, Any]]:
    """Return of each value that is bound by a bar whether that is held: the most it may be, of
    those in ``at_least`` the least."""
    return {
        name: {
            "value": round(values[name], 4),
            "bar": bar,
            "held": values[name] >= bar if name in at_least else values[name] <= bar,
        }
        for name, bar in bars.items()
    }


def commit() -> str:
    """Return the commit that is measured, and whether there is more than it."""
    found = _git("rev-parse", "--short", "HEAD")
    return f"{found}-dirty" if _git("status", "--porcelain", "--", *_MEASURED) else found


def _git(*words: str) -> str:
    root = Path(__file__).parents[1]
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip()
