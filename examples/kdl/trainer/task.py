"""A line through points, as a KDL trainer module.

It knows nothing of Danlu: it is run as ``python -m trainer.task`` in the folder of its setup.py,
takes its parameters as flags and has a default for each. With a cluster in TF_CONFIG only the
master trains; a worker has nothing to add to so small a model, and a ps waits to be ended.
Plain Python, so that it runs before TensorFlow is installed.
"""

import argparse
import csv
import json
import os
import time

parser = argparse.ArgumentParser(description="fit a line")
parser.add_argument("--data_path", default="./data/points.csv")
parser.add_argument("--max_epochs", type=int, default=100)
parser.add_argument("--learning_rate", type=float, default=0.1)
parser.add_argument("--checkpoint_path", default="./checkpoint/")
parser.add_argument("--checkpoint_period", type=int, default=100)
parser.add_argument("--model_path", default="./model/")
parser.add_argument("--model_version", type=int, default=1)
args = parser.parse_args()


def read():
    with open(args.data_path, newline="") as file:
        return [(float(row["x"]), float(row["y"])) for row in csv.DictReader(file)]


def write(path, name, state):
    os.makedirs(path, exist_ok=True)
    target = os.path.join(path, name)
    with open(target + ".tmp", "w") as file:
        json.dump(state, file)
    os.replace(target + ".tmp", target)


def restore():
    path = os.path.join(args.checkpoint_path, "line.json")
    if not os.path.exists(path):
        return {"epoch": 0, "slope": 0.0, "offset": 0.0}
    with open(path) as file:
        state = json.load(file)
    print(f"Restored epoch {state['epoch']} from {path}")
    return state


def train():
    points = read()
    state = restore()
    loss = 0.0
    for epoch in range(state["epoch"] + 1, args.max_epochs + 1):
        errors = [(state["slope"] * x + state["offset"] - y, x) for x, y in points]
        loss = sum(error * error for error, _ in errors) / len(points)
        slopes = sum(2 * error * x for error, x in errors) / len(points)
        offsets = sum(2 * error for error, _ in errors) / len(points)
        state["slope"] -= args.learning_rate * slopes
        state["offset"] -= args.learning_rate * offsets
        state["epoch"] = epoch
        if epoch % args.checkpoint_period == 0 or epoch == args.max_epochs:
            print(f"Epoch: {epoch}, loss: {loss:.6f}")
            write(args.checkpoint_path, "line.json", state)
    write(os.path.join(args.model_path, str(args.model_version)), "line.json", state)
    print(f"y = {state['slope']:.3f} x + {state['offset']:.3f}")


def main():
    task = json.loads(os.environ.get("TF_CONFIG") or "{}").get("task", {"type": "master"})
    if task["type"] == "master":
        train()
    while task["type"] == "ps":
        time.sleep(1)


if __name__ == "__main__":
    main()
