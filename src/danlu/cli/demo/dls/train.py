"""A DLS training script in plain Python: the same file is every parameter server and worker.

Each worker learns a plane from its share of the points; the first is the chief and writes the
model. A parameter server does what TensorFlow's does: it waits until the service ends it.
"""

import argparse
import csv
import json
import os
import time

Point = tuple[float, float, float]


def read_points(folder: str) -> list[Point]:
    with open(os.path.join(folder, "points.csv"), newline="") as f:
        rows = list(csv.DictReader(f))
    return [(float(row["x1"]), float(row["x2"]), float(row["y"])) for row in rows]


def loss_of(points: list[Point], w1: float, w2: float, bias: float) -> float:
    return sum((w1 * x1 + w2 * x2 + bias - y) ** 2 for x1, x2, y in points) / len(points)


def train(points: list[Point], steps: int, rate: float) -> tuple[float, float, float]:
    w1 = w2 = bias = 0.0
    for step in range(1, steps + 1):
        errors = [(w1 * x1 + w2 * x2 + bias - y, x1, x2) for x1, x2, y in points]
        w1 -= rate * sum(2 * error * x1 for error, x1, _ in errors) / len(points)
        w2 -= rate * sum(2 * error * x2 for error, _, x2 in errors) / len(points)
        bias -= rate * sum(2 * error for error, _, _ in errors) / len(points)
        if step == 1 or step % max(steps // 5, 1) == 0:
            print(f"step: {step}\tloss: {loss_of(points, w1, w2, bias):.6f}")
    return w1, w2, bias


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_url")
    parser.add_argument("--train_url")
    parser.add_argument("--max_steps", type=int, default=200)
    parser.add_argument("--job_name", default="worker")
    parser.add_argument("--task_index", type=int, default=0)
    parser.add_argument("--ps_hosts", default="")
    parser.add_argument("--worker_hosts", default="")
    args, _ = parser.parse_known_args()

    while args.job_name == "ps":
        time.sleep(1)
    points = read_points(args.data_url)
    held_out, training = points[: len(points) // 5], points[len(points) // 5 :]
    workers = len(args.worker_hosts.split(","))
    plane = train(training[args.task_index :: workers], args.max_steps, 0.1)
    if args.task_index == 0:
        with open(os.path.join(args.train_url, "model.json"), "w") as f:
            json.dump({"weights": plane[:2], "bias": plane[2]}, f)
        print(f"held-out loss = {loss_of(held_out, *plane):.6f}")


if __name__ == "__main__":
    main()
