"""Writes a small data set: weight, diameter and colour of apples, lemons and plums.

python make_data.py DIRECTORY [--rows 600]
"""

import argparse
import csv
import random
from pathlib import Path

# Mean weight in grams, mean diameter in centimetres, colours; fruits of a kind differ a little.
KINDS = (
    (180, 7.6, ("red", "green", "yellow")),
    (110, 5.8, ("yellow", "green")),
    (65, 4.6, ("purple", "red")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a small data set of fruits.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rows", type=int, default=600)
    args = parser.parse_args()
    args.directory.mkdir(parents=True, exist_ok=True)
    chance = random.Random(20190401)
    for name, rows in (("train.csv", args.rows), ("eval.csv", args.rows // 5)):
        with (args.directory / name).open("w", newline="") as file:
            writer = csv.writer(file)
            for _ in range(rows):
                kind = chance.randrange(len(KINDS))
                weight, diameter, colours = KINDS[kind]
                sizes = (chance.gauss(weight, 15), chance.gauss(diameter, 0.4))
                writer.writerow([*(f"{size:.2f}" for size in sizes), chance.choice(colours), kind])


if __name__ == "__main__":
    main()
