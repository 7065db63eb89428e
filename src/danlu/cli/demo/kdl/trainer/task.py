"""A KDL trainer module in plain Python: learns a line from points it makes itself.

Like the sample of that service's manual it has a default for every flag, and writes its model to
the folder it was told, which is below the package's own by default.
"""

import argparse
import json
import os
import random

Point = tuple[float, float]


def make_points(seed: int, count: int) -> list[Point]:
    chance = random.Random(seed)
    xs = [chance.uniform(-1, 1) for _ in range(count)]
    return [(x, 2 * x + 1 + chance.gauss(0, 0.05)) for x in xs]


def loss_of(points: list[Point], slope: float, offset: float) -> float:
    return sum((slope * x + offset - y) ** 2 for x, y in points) / len(points)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_epochs", type=int, default=100)
    parser.add_argument("--learning_rate", type=float, default=0.01)
    parser.add_argument("--model_path", default="./model/")
    parser.add_argument("--model_version", type=int, default=1)
    args = parser.parse_args()

    training, held_out = make_points(1, 400), make_points(2, 100)
    slope = offset = 0.0
    for epoch in range(1, args.max_epochs + 1):
        errors = [(slope * x + offset - y, x) for x, y in training]
        slope -= args.learning_rate * sum(2 * error * x for error, x in errors) / len(training)
        offset -= args.learning_rate * sum(2 * error for error, _ in errors) / len(training)
        if epoch == 1 or epoch % max(args.max_epochs // 5, 1) == 0:
            print(f"Epoch: {epoch}, loss: {loss_of(training, slope, offset):.6f}")

    folder = os.path.join(args.model_path, str(args.model_version))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "model.json"), "w") as f:
        json.dump({"slope": slope, "offset": offset}, f)
    print(f"held-out loss = {loss_of(held_out, slope, offset):.6f}")


if __name__ == "__main__":
    main()
