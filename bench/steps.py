"""What counting costs a training loop: ``sess.run`` as it is watched, beside the plain one.

Both run in one process, in turns, on the smallest graph that trains: all of a run is overhead. The
best of many rounds counts. The bar is 20 microseconds a run.

    python bench/steps.py [--rounds 30]     writes bench/results/steps.json
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BAR = 20e-6
RUNS = 2000
RESULT = Path(__file__).parent / "results" / "steps.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="", TF_USE_LEGACY_KERAS="1")
    with tempfile.TemporaryDirectory() as box:
        os.environ.update(DANLU_BOX=box, DANLU_MAX_STEPS=str(10**9))
        rows = measure(rounds)
    report = {
        "what": "seconds of one sess.run, watched and plain, best of the rounds",
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
        "rounds": rounds,
        "bar_seconds": BAR,
        "runs": rows,
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    for name, row in rows.items():
        print(f"{name:24} +{row['added'] * 1e6:5.1f} µs  {row['ratio']:5.2f} x")
    return 0 if all(row["added"] < BAR for row in rows.values()) else 1


def measure(rounds: int) -> dict[str, dict[str, float]]:
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
    rows = {}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for name, fetches in cases.items():
            best = {plain: float("inf"), watched: float("inf")}
            for _ in range(rounds):
                for run in best:
                    best[run] = min(best[run], seconds(run, session, fetches))
            rows[name] = {
                "plain": round(best[plain], 8),
                "watched": round(best[watched], 8),
                "added": round(best[watched] - best[plain], 8),
                "ratio": round(best[watched] / best[plain], 3),
            }
    return rows


def seconds(run: Callable[..., Any], session: Any, fetches: Any) -> float:
    began = time.perf_counter()
    for _ in range(RUNS):
        run(session, fetches)
    return (time.perf_counter() - began) / RUNS


if __name__ == "__main__":
    sys.exit(main())
