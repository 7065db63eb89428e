"""Writes a small data set: petals and sepals of three made-up irises, in two channels.

python make_data.py DIRECTORY [--rows 600]
"""

import argparse
import csv
import random
from pathlib import Path

# Mean length and width of sepal and petal in centimetres; flowers of a kind differ a little.
KINDS = {
    "setosa": (5.0, 3.4, 1.5, 0.2),
    "versicolor": (5.9, 2.8, 4.3, 1.3),
    "virginica": (6.6, 3.0, 5.6, 2.0),
}
SPREAD = 0.25


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a small data set of flowers.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rows", type=int, default=600)
    args = parser.parse_args()
    chance = random.Random(20200101)
    for channel, rows in (("train", args.rows), ("test", args.rows // 5)):
        folder = args.directory / channel
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "flowers.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            for _ in range(rows):
                kind = chance.choice(list(KINDS))
                sizes = [round(chance.gauss(mean, SPREAD), 2) for mean in KINDS[kind]]
                writer.writerow([kind, *sizes])


if __name__ == "__main__":
    main()
