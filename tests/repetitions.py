"""How often a fault is tried, from which seed, and what was measured.

``CHAOS_COUNT`` is how often the long form of a test tries, ``CHAOS_SEED`` makes a run again as it
was, and ``CHAOS_RESULTS`` names the JSON file that numbers are written to.
"""

import fcntl
import json
import os
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
COUNT, SEED, RESULTS = "CHAOS_COUNT", "CHAOS_SEED", "CHAOS_RESULTS"


def tried(quick: int, long: int, *, timeout: float = 3600) -> Callable[..., Any]:
    """Run a test with ``count``: few times in every run, many times in the long ones."""
    many = int(os.environ.get(COUNT) or long)
    patient = pytest.mark.timeout(300)
    marks = [pytest.mark.long, pytest.mark.timeout(timeout)]
    return pytest.mark.parametrize(
        "count",
        [
            pytest.param(quick, marks=[patient], id="quick"),
            pytest.param(many, marks=marks, id="long"),
        ],
    )


class Chance(random.Random):
    """Random moments that can be had again: the seed is in the output of a test that fails."""

    def __init__(self) -> None:
        self.number = int(os.environ.get(SEED) or random.randrange(1 << 32))
        print(f"{SEED}={self.number}")
        super().__init__(self.number)


class Measured:
    """Writes what a long test found, under the name of its fault, beside what others wrote."""

    def __init__(self, test: str, seed: int) -> None:
        self._test = test
        self._seed = seed

    def __call__(self, fault: str, **numbers: Any) -> None:
        print(json.dumps({"fault": fault, "seed": self._seed, **numbers}))
        if not os.environ.get(RESULTS):
            return
        result = {
            "test": self._test.rpartition("[")[0] or self._test,
            "seed": self._seed,
            "commit": _commit(),
            "day": time.strftime("%Y-%m-%d", time.gmtime()),
            "numbers": numbers,
        }
        _add(ROOT / os.environ[RESULTS], fault, result)


def _add(path: Path, fault: str, result: dict[str, Any]) -> None:
    """Write one result; runs side by side wait for each other, or one would undo the other's."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        known[fault] = result
        fresh = path.with_suffix(".new")
        text = json.dumps(dict(sorted(known.items())), indent=1)
        fresh.write_text(text + "\n", encoding="utf-8")
        fresh.replace(path)
    finally:
        os.close(folder)


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip() or "unknown"
