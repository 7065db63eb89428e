"""Writes measures of three kinds of made-up flowers: length and width of two kinds of leaves.

python make_data.py DIRECTORY [--rows 300]
"""

import argparse
import csv
import random
from pathlib import Path

KINDS = {
    "daisy": (5.0, 3.4, 1.5, 0.3),
    "rose": (5.9, 2.8, 4.3, 1.3),
    "tulip": (6.6, 3.0, 5.6, 2.1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Write measures of flowers.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rows", type=int, default=300)
    args = parser.parse_args()
    args.directory.mkdir(parents=True, exist_ok=True)
    chance = random.Random(20180413)
    for name, rows in (("train.csv", args.rows), ("test.csv", args.rows // 3)):
        with (args.directory / name).open("w", newline="") as file:
            writer = csv.writer(file)
            for _ in range(rows):
                kind = chance.choice(list(KINDS))
                writer.writerow([kind, *(f"{chance.gauss(m, 0.3):.2f}" for m in KINDS[kind])])


if __name__ == "__main__":
    main()
