"""A TI training script in plain Python: fit a plane to noisy points.

Paths come from environment variables, parameters from flags. The files in the model folder are
packed as model.tar.gz after the script has ended.
"""

import argparse
import csv
import json
import os

Point = tuple[float, float, float]


def read_points(folder: str) -> list[Point]:
    with open(os.path.join(folder, "points.csv"), newline="") as f:
        rows = list(csv.DictReader(f))
    return [(float(row["x1"]), float(row["x2"]), float(row["y"])) for row in rows]


def loss_of(points: list[Point], weights: list[float]) -> float:
    return sum(error_of(point, weights) ** 2 for point in points) / len(points)


def error_of(point: Point, weights: list[float]) -> float:
    x1, x2, y = point
    return weights[0] * x1 + weights[1] * x2 + weights[2] - y


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--train", default=os.environ.get("TM_CHANNEL_TRAIN"))
    parser.add_argument("--model_dir", default=os.environ.get("TM_MODEL_DIR"))
    args, _ = parser.parse_known_args()

    points = read_points(args.train)
    held_out, training = points[: len(points) // 5], points[len(points) // 5 :]
    weights = [0.0, 0.0, 0.0]
    for step in range(1, args.steps + 1):
        errors = [(error_of(point, weights), point) for point in training]
        for i in range(3):
            slope = sum(2 * error * (*point[:2], 1.0)[i] for error, point in errors)
            weights[i] -= args.lr * slope / len(training)
        if step == 1 or step % max(args.steps // 5, 1) == 0:
            print(f"step {step} loss {loss_of(training, weights):.6f}")

    with open(os.path.join(args.model_dir, "model.json"), "w") as f:
        json.dump({"weights": weights[:2], "bias": weights[2]}, f)
    print(f"held-out loss = {loss_of(held_out, weights):.6f}")


if __name__ == "__main__":
    main()
