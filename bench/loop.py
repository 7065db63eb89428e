"""How fast fused steps are, beside the loops people write: in turns, in one process.

A step's time is the median of the rounds. Every round is kept, and the ratio of the best ones is
also reported: where two processors are two threads of one core for a while, rounds are of two
kinds. The MLP is nearly all overhead; ResNet-20 nearly none, and must not become slower.

    python bench/loop.py [--rounds 5]     writes bench/results/loop.json

On a machine with other work, ``chrt -f 5`` before it gives it the processors first.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reports import Rounds, arguments, written

import danlu_runtime

STARTUP = Path(danlu_runtime.__file__).with_name("startup")
# The required ratios. The first four are steps and nothing else: no line, no
# summary, no checkpoint. Higher ratios are not reachable.
BARS = [
    ("fused, 100 steps a call", "run([op, loss])", None),
    ("fused, 100 steps a call", "tf.estimator", None),
    ("fused, 100 steps a call, XLA", "run([op, loss])", None),
    ("fused, 100 steps a call, XLA", "tf.estimator", None),
    ("tf.estimator, fused", "tf.estimator", 1.5),
    ("tf.estimator, fused, XLA", "tf.estimator", 2.5),
    ("mox.run", "run([op, loss])", 1.3),
    ("mox.run", "tf.estimator", 1.5),
    ("mox.run, XLA", "run([op, loss])", 2.0),
    ("mox.run, XLA", "tf.estimator", 2.5),
    ("ResNet-20: mox.run", "ResNet-20: make_callable", 0.97),
]


def main() -> int:
    given = arguments(__doc__).parse_args()
    rounds = Rounds(given.rounds, given.seed)
    with tempfile.TemporaryDirectory() as tempfile.tempdir:  # every training leaves a folder
        taken = measure(rounds)
    seconds = {name: statistics.median(each) for name, each in taken.items()}
    ratios: list[dict[str, Any]] = [
        {
            "what": what,
            "beside": beside,
            "ratio": round(seconds[beside] / seconds[what], 2),
            "of_best": round(min(taken[beside]) / min(taken[what]), 2),
            "bar": bar,
        }
        for what, beside, bar in BARS
    ]
    written(
        "loop",
        "steps a second, median of the rounds, all in turns in one process",
        rounds,
        real_time=os.sched_getscheduler(0) == os.SCHED_FIFO,
        steps_a_second={name: round(1 / each, 1) for name, each in seconds.items()},
        ratios=ratios,
        microseconds_a_step={
            name: [round(each * 1e6) for each in every] for name, every in taken.items()
        },
    )
    for name, each in seconds.items():
        print(f"{name:44} {1 / each:8.1f} steps/s")
    for row in ratios:
        print(f"{row['what']:44} {row['ratio']:5.2f} x {row['beside']} (bar {row['bar'] or '-'})")
    return 0 if all(row["ratio"] >= (row["bar"] or 0) for row in ratios) else 1


def measure(rounds: Rounds) -> dict[str, list[float]]:
    """Return the seconds of one step for each way, in each round."""
    ways = _ways()
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for turns in rounds.turns(ways):
        for name in turns:
            taken[name].append(ways[name]())
    return taken


def _ways() -> dict[str, Callable[[], float]]:
    from peers import estimators, loops, moxing
    from peers.models import MLP, RESNET

    def timed(go: loops.Round, steps: int) -> Callable[[], float]:
        go(steps // 4 * 4 if steps < 100 else 100)  # warm; a program is compiled here

        def one_round() -> float:
            began = time.perf_counter()
            go(steps)
            return (time.perf_counter() - began) / steps

        return one_round

    made = {
        "run([op, loss])": loops.hand_written(MLP),
        "make_callable": loops.prepared(MLP),
        "MonitoredTrainingSession": loops.monitored(MLP),
        "fused, 10 steps a call": loops.fused(MLP, 10),
        "fused, 9 steps and a single one": loops.fused_and_single(MLP, 10),
        "fused, 100 steps a call": loops.fused(MLP, 100),
        "fused, 10 steps a call, XLA": loops.fused(MLP, 10, xla=True),
        "fused, 100 steps a call, XLA": loops.fused(MLP, 100, xla=True),
    }
    found = {name: timed(go, MLP.steps) for name, go in made.items()}
    found["tf.estimator"] = lambda: estimators.plain(MLP, MLP.steps)
    found["tf.estimator, fused"] = lambda: estimators.driven(MLP, MLP.steps)
    found["tf.estimator, fused, XLA"] = lambda: estimators.driven(MLP, MLP.steps, xla=True)
    found["mox.run"] = lambda: moxing.run(MLP, MLP.steps)
    found["mox.run, XLA"] = lambda: moxing.run(MLP, MLP.steps, xla=True)
    large = {
        "make_callable": loops.prepared(RESNET),
        "fused, 10 steps a call": loops.fused(RESNET, 10),
    }
    found |= {f"ResNet-20: {name}": timed(go, RESNET.steps) for name, go in large.items()}
    found["ResNet-20: mox.run"] = lambda: moxing.run(RESNET, RESNET.steps)
    return found


if __name__ == "__main__":
    if "DANLU_TENSORFLOW" not in os.environ:  # as a task starts a script
        as_task = {"PYTHONPATH": str(STARTUP), "DANLU_TENSORFLOW": "1.15.5"}
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **as_task})
    sys.exit(main())
