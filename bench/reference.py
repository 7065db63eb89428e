"""The same scripts on the real TensorFlow 1.15.5 and on Danlu, in turns: steps a second, start-up
and memory.

The median of the rounds counts. The bar: no kind of script makes fewer steps a second than on
1.15.5. Start-up and memory have no bar.

    python bench/reference.py [--rounds 3] [--python PYTHON]   writes bench/results/reference.json
"""

import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from reports import Rounds, arguments, judged, written

from danlu.cli.commands.python import FOREGROUND, choose, environment, read
from danlu.cli.commands.verify import fixed_environment, reference_environment
from danlu.cli.verify.comparison import usage
from danlu.cli.verify.isolated_run import Script, Side, run
from danlu.cli.verify.reference import ReferenceMaker
from danlu.executors.machine import probe
from danlu.job.spec import TENSORFLOW_1
from danlu.settings import load

PROGRAMS = Path(__file__).with_name("reference_programs")
NAMES = ("mlp", "cnn", "lstm", "estimator", "keras")
BAR = 1.0
MEASURED = ("steps_per_second", "seconds_to_first_run", "peak_bytes")


def main() -> int:
    parser = arguments(__doc__, rounds=3)
    parser.add_argument("--python", default="")
    given = parser.parse_args()
    settings = load()
    maker = ReferenceMaker(settings.home, os.environ, given=given.python or settings.reference)
    python = maker.python(print)
    rounds = Rounds(given.rounds, given.seed)
    taken: dict[tuple[str, str], list[dict[str, Any]]] = {}
    entries = [(name, side) for name in NAMES for side in ("reference", "danlu")]
    with tempfile.TemporaryDirectory() as folder:
        for turns in rounds.turns(entries):
            for name, side in turns:
                found = measure(name, side, python, Path(tempfile.mkdtemp(dir=folder)))
                taken.setdefault((name, side), []).append(found)
    rows = {name: row(taken[name, "reference"], taken[name, "danlu"]) for name in NAMES}
    bars = judged(
        {name: rows[name]["steps_per_second"]["ratio"] for name in NAMES},
        dict.fromkeys(NAMES, BAR),
        at_least=NAMES,
    )
    what = "scripts on TensorFlow 1.15.5 and on Danlu, median of the rounds, in turns"
    written("reference", what, rounds, bars=bars, scripts=rows, peers=["tensorflow==1.15.5"])
    for name, each in rows.items():
        shown = "  ".join(f"{key} {value['ratio']:.2f}" for key, value in each.items())
        print(f"{name:10} {shown}")
    return 0 if all(each["held"] for each in bars.values()) else 1


def measure(name: str, side: str, python: str, folder: Path) -> dict[str, Any]:
    """Return what one run of a script needed.

    Raises:
        RuntimeError: the script failed.
    """
    path = str(PROGRAMS / f"{name}.py")
    home = os.path.dirname(os.path.dirname(python))
    sides = {
        "reference": Side(
            "reference", [python, "-s"], reference_environment(os.environ, python), readable=[home]
        ),
        "danlu": Side(
            "danlu",
            [sys.executable],
            environment(
                fixed_environment(os.environ), read([path]), choose(TENSORFLOW_1, read([path]))
            ),
            str(FOREGROUND),
        ),
    }
    result = run(sides[side], Script([path], str(PROGRAMS)), folder, probe(folder))
    if result.error:
        raise RuntimeError(f"{name} on {side}: {result.error}")
    return usage(result)


def row(
    reference: list[dict[str, Any]], danlu: list[dict[str, Any]]
) -> dict[str, dict[str, float]]:
    """Return the medians of both sides and their ratio, for each thing that is measured."""
    found = {}
    for key in MEASURED:
        one, other = (statistics.median(each[key] for each in runs) for runs in (reference, danlu))
        found[key] = {"reference": one, "danlu": other, "ratio": round(other / one, 3)}
    return found


if __name__ == "__main__":
    sys.exit(main())
