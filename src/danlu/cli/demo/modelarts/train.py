"""A ModelArts training script in plain Python: fit a plane to noisy points.

Like many scripts of that service it copies its data to /cache, the fast local disk, and prints
its loss during training.
"""

import argparse
import csv
import json
import os
import shutil

CACHE = "/cache/demo"
Point = tuple[float, float, float]


def read_points(folder: str) -> list[Point]:
    points = []
    with open(os.path.join(folder, "points.csv"), newline="") as f:
        for row in csv.DictReader(f):
            points.append((float(row["x1"]), float(row["x2"]), float(row["y"])))
    return points


def gradients(
    points: list[Point], w1: float, w2: float, bias: float
) -> tuple[float, float, float, float]:
    loss = g1 = g2 = gb = 0.0
    for x1, x2, y in points:
        error = w1 * x1 + w2 * x2 + bias - y
        loss += error * error
        g1 += 2 * error * x1
        g2 += 2 * error * x2
        gb += 2 * error
    n = len(points)
    return loss / n, g1 / n, g2 / n, gb / n


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_url", required=True)
    parser.add_argument("--train_url", required=True)
    parser.add_argument("--max_steps", type=int, default=200)
    parser.add_argument("--learning_rate", type=float, default=0.1)
    args = parser.parse_args()

    shutil.copytree(args.data_url, CACHE)
    points = read_points(CACHE)
    held_out, training = points[: len(points) // 5], points[len(points) // 5 :]
    print(f"points: {len(training)} for training, {len(held_out)} held out")

    w1 = w2 = bias = 0.0
    for step in range(1, args.max_steps + 1):
        loss, g1, g2, gb = gradients(training, w1, w2, bias)
        w1 -= args.learning_rate * g1
        w2 -= args.learning_rate * g2
        bias -= args.learning_rate * gb
        if step == 1 or step % max(args.max_steps // 5, 1) == 0:
            print(f"step = {step}, loss = {loss:.6f}")

    held_out_loss = gradients(held_out, w1, w2, bias)[0]
    print(f"held-out loss = {held_out_loss:.6f}")
    with open(os.path.join(args.train_url, "model.json"), "w") as f:
        json.dump({"weights": [w1, w2], "bias": bias}, f)
    with open(os.path.join(args.train_url, "metrics.json"), "w") as f:
        json.dump({"steps": args.max_steps, "loss": held_out_loss}, f)


if __name__ == "__main__":
    main()
