"""What counting costs a training loop: ``sess.run`` as it is watched, beside the plain one.

Both run in one process, in turns, on the smallest graph that trains: all of a run is overhead. The
best of many rounds counts. The bar is 20 microseconds a run.

    python bench/steps.py [--rounds 30]     writes bench/results/steps.json
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from reports import Rounds, arguments, written

BAR = 20e-6
RUNS = 2000


def main() -> int:
    given = arguments(__doc__, rounds=30).parse_args()
    rounds = Rounds(given.rounds, given.seed)
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="", TF_USE_LEGACY_KERAS="1")
    with tempfile.TemporaryDirectory() as box:
        os.environ.update(DANLU_BOX=box, DANLU_MAX_STEPS=str(10**9))
        rows = measure(rounds)
    what = "seconds of one sess.run, watched and plain, best of the rounds"
    written("steps", what, rounds, bar_seconds=BAR, runs=rows)
    for name, row in rows.items():
        print(f"{name:24} +{row['added'] * 1e6:5.1f} µs  {row['ratio']:5.2f} x")
    return 0 if all(row["added"] < BAR for row in rows.values()) else 1


def measure(rounds: Rounds) -> dict[str, dict[str, float]]:
    import tensorflow.compat.v1 as tf
    from tensorflow.python.client.session import BaseSession

    tf.disable_v2_behavior()
    plain: Callable[..., Any] = BaseSession.run
    from danlu_runtime import steps

    steps.install()
    watched: Callable[..., Any] = BaseSession.run
    weight = tf.get_variable("weight", initializer=0.0)
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(1e-9).minimize(weight * 1.0, global_step=step)
    cases = {
        "nothing": tf.no_op(),
        "a step": train,
        "a step and two values": [train, weight, step],
    }
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        best = {(name, run): float("inf") for name in cases for run in (plain, watched)}
        for turns in rounds.turns(best):
            for name, run in turns:
                taken = seconds(run, session, cases[name])
                best[name, run] = min(best[name, run], taken)
    return {name: row(best[name, plain], best[name, watched]) for name in cases}


def row(plain: float, watched: float) -> dict[str, float]:
    return {
        "plain": round(plain, 8),
        "watched": round(watched, 8),
        "added": round(watched - plain, 8),
        "ratio": round(watched / plain, 3),
    }


def seconds(run: Callable[..., Any], session: Any, fetches: Any) -> float:
    began = time.perf_counter()
    for _ in range(RUNS):
        run(session, fetches)
    return (time.perf_counter() - began) / RUNS


if __name__ == "__main__":
    sys.exit(main())
