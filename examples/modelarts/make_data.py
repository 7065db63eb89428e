"""Writes a small data set: strokes of the digits 0 to 9 on an 8 x 8 grid, with noise.

python make_data.py DIRECTORY [--rows 1000]
"""

import argparse
import csv
import random
from pathlib import Path

# Seven strokes, as on a pocket calculator; rows and columns of the grid they cover.
STROKES = {
    "top": [(0, c) for c in range(1, 7)],
    "middle": [(4, c) for c in range(1, 7)],
    "bottom": [(7, c) for c in range(1, 7)],
    "upper left": [(r, 0) for r in range(1, 4)],
    "upper right": [(r, 7) for r in range(1, 4)],
    "lower left": [(r, 0) for r in range(5, 7)],
    "lower right": [(r, 7) for r in range(5, 7)],
}
LEFT, RIGHT = ("upper left", "lower left"), ("upper right", "lower right")
DIGITS = [
    ("top", "bottom", *LEFT, *RIGHT),
    RIGHT,
    ("top", "upper right", "middle", "lower left", "bottom"),
    ("top", "middle", "bottom", *RIGHT),
    ("middle", "upper left", *RIGHT),
    ("top", "upper left", "middle", "lower right", "bottom"),
    ("top", "middle", "bottom", *LEFT, "lower right"),
    ("top", *RIGHT),
    ("top", "middle", "bottom", *LEFT, *RIGHT),
    ("top", "middle", "bottom", "upper left", *RIGHT),
]


def image(digit: int, chance: random.Random) -> list[int]:
    """Return 64 grey values; every tenth point of a stroke is missing."""
    grid = [chance.randrange(60) for _ in range(64)]
    for stroke in DIGITS[digit]:
        for row, column in STROKES[stroke]:
            if chance.random() > 0.1:
                grid[8 * row + column] = 255 - chance.randrange(60)
    return grid


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a small data set of digits.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rows", type=int, default=1000)
    args = parser.parse_args()
    args.directory.mkdir(parents=True, exist_ok=True)
    chance = random.Random(20190601)
    for name, rows in (("train.csv", args.rows), ("test.csv", args.rows // 5)):
        with (args.directory / name).open("w", newline="") as file:
            writer = csv.writer(file)
            for _ in range(rows):
                digit = chance.randrange(10)
                writer.writerow([digit, *image(digit, chance)])


if __name__ == "__main__":
    main()
