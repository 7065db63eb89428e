"""Softmax regression on small pictures of digits, as a ModelArts training script.

It knows nothing of Danlu: ``data_url`` and ``train_url`` are directories, ``/cache`` is scratch.
Plain Python, so that it runs before TensorFlow is installed.
"""

import argparse
import csv
import json
import math
import os
import random

from network import Network

parser = argparse.ArgumentParser(description="train digits")
parser.add_argument("--train_url", type=str, default="./output", help="the path model saved")
parser.add_argument("--data_url", type=str, default="./data", help="the training data")
parser.add_argument("--max_steps", type=int, default=300)
parser.add_argument("--learning_rate", type=float, default=0.1)
args, unknown = parser.parse_known_args()

CHECKPOINT = os.path.join(args.train_url, "checkpoint.json")


def read(name):
    with open(os.path.join(args.data_url, name)) as file:
        rows = [[int(cell) for cell in row] for row in csv.reader(file)]
    return [(row[0], [value / 255 for value in row[1:]]) for row in rows]


def save(network, step):
    # Written beside and renamed: a job that is killed here keeps its last complete checkpoint.
    with open(CHECKPOINT + ".tmp", "w") as file:
        json.dump({"step": step, "weights": network.weights}, file)
    os.replace(CHECKPOINT + ".tmp", CHECKPOINT)


def restore(network):
    if not os.path.exists(CHECKPOINT):
        return 0
    with open(CHECKPOINT) as file:
        state = json.load(file)
    network.weights = state["weights"]
    print(f"Restored step {state['step']} from {CHECKPOINT}")
    return state["step"]


def accuracy(network, rows):
    return sum(network.guess(x) == label for label, x in rows) / len(rows)


def main():
    train, test = read("train.csv"), read("test.csv")
    print(f"Training model on {len(train)} pictures, testing on {len(test)}")
    os.makedirs(args.train_url, exist_ok=True)
    with open("/cache/note.txt", "w") as file:
        file.write("what is written here is this job's own, and gone with it\n")
    network = Network(inputs=64, classes=10)
    first = restore(network)
    for step in range(first + 1, args.max_steps + 1):
        batch = random.Random(step).sample(train, 32)
        loss = network.learn(batch, args.learning_rate)
        if math.isnan(loss):
            raise ValueError(f"loss is NaN at step {step}; lower --learning_rate")
        if step % 50 == 0 or step == args.max_steps:
            print(f"step = {step}, loss = {loss:.4f}, accuracy = {accuracy(network, test):.3f}")
            save(network, step)
    model = os.path.join(args.train_url, "model")
    os.makedirs(model, exist_ok=True)
    with open(os.path.join(model, "weights.json"), "w") as file:
        json.dump(network.weights, file)
    print("Done exporting!")


if __name__ == "__main__":
    main()
