"""Flowers by the nearest centre, as a DLS training script.

It knows nothing of Danlu: it parses the flags the service passes, also those of several nodes, and
ignores what it does not know. Plain Python, so that it runs before TensorFlow is installed.
"""

import argparse
import csv
import json
import os
import time

parser = argparse.ArgumentParser(description="train flowers")
parser.add_argument("--data_url", default="./data", help="the training data")
parser.add_argument("--train_url", default="./log", help="where the model goes")
parser.add_argument("--max_steps", type=int, default=50)
parser.add_argument("--job_name", default="worker")
parser.add_argument("--task_index", type=int, default=0)
parser.add_argument("--ps_hosts", default="")
parser.add_argument("--worker_hosts", default="")
parser.add_argument("--num_gpus", type=int, default=1)
args, unparsed = parser.parse_known_args()


def read(name):
    with open(os.path.join(args.data_url, name), newline="") as file:
        return [(row[0], [float(cell) for cell in row[1:]]) for row in csv.reader(file)]


def nearest(centres, point):
    def distance(name):
        return sum((a - b) ** 2 for a, b in zip(centres[name], point, strict=True))

    return min(centres, key=distance)


def train(rows):
    """Move the centre of each kind a little towards each of its flowers, again and again."""
    centres = {}
    for step in range(1, args.max_steps + 1):
        for kind, point in rows:
            centre = centres.setdefault(kind, [0.0] * len(point))
            centres[kind] = [a + 0.05 * (b - a) for a, b in zip(centre, point, strict=True)]
        if step % 10 == 0 or step == args.max_steps:
            right = sum(nearest(centres, point) == kind for kind, point in rows)
            print(f"step: {step}\taccuracy: {right / len(rows):.3f}")
    return centres


def main():
    if args.job_name == "ps":
        print(f"ps {args.task_index} of {len(args.ps_hosts.split(','))} waits")
        while True:
            time.sleep(1)
    workers = max(len(args.worker_hosts.split(",")), 1)
    # Every worker learns from its share; the first is the chief and writes the model.
    centres = train(read("train.csv")[args.task_index :: workers])
    if args.task_index == 0:
        test = read("test.csv")
        right = sum(nearest(centres, point) == kind for kind, point in test)
        print(f"test accuracy: {right / len(test):.3f}")
        os.makedirs(args.train_url, exist_ok=True)
        with open(os.path.join(args.train_url, "model.json"), "w") as file:
            json.dump(centres, file)


if __name__ == "__main__":
    main()
