"""Writes points of the line y = 2 x + 1, with a little noise.

python make_data.py DIRECTORY [--rows 200]
"""

import argparse
import csv
import random
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description="Write points near a line.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rows", type=int, default=200)
    args = parser.parse_args()
    args.directory.mkdir(parents=True, exist_ok=True)
    chance = random.Random(20170601)
    with (args.directory / "points.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "y"])
        for _ in range(args.rows):
            x = chance.uniform(-1, 1)
            writer.writerow([f"{x:.6f}", f"{2 * x + 1 + chance.gauss(0, 0.05):.6f}"])


if __name__ == "__main__":
    main()
