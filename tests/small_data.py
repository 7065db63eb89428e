"""Data small enough to be made anew for each test, in the formats old scripts read."""

import gzip
import random
import struct
from pathlib import Path


def write_digits(folder: Path, train: int = 5400, test: int = 100) -> Path:
    """Write images whose bright line shows the digit, as the four files of MNIST."""
    folder.mkdir()
    for name, count, seed in (("train", train, 0), ("t10k", test, 1)):
        chance = random.Random(seed)
        labels = bytes(chance.randrange(10) for _ in range(count))
        pixels = b"".join(_digit(label, chance) for label in labels)
        with gzip.open(folder / f"{name}-images-idx3-ubyte.gz", "wb", 1) as file:
            file.write(struct.pack(">4i", 2051, count, 28, 28) + pixels)
        with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz", "wb", 1) as file:
            file.write(struct.pack(">2i", 2049, count) + labels)
    return folder


def _digit(label: int, chance: random.Random) -> bytes:
    image = bytearray(28 * 28)
    start = 28 * (2 + 2 * label)
    image[start : start + 56] = bytes([200]) * 56
    image[chance.randrange(28 * 28)] = 255
    return bytes(image)


def write_census(folder: Path, count: int, seed: int) -> Path:
    """Write rows whose column rich depends on hours and work, and happy on age."""
    folder.mkdir()
    chance = random.Random(seed)
    lines = ["age,hours,work,rich,happy"]
    for _ in range(count):
        age, hours = chance.randint(18, 65), chance.randint(10, 60)
        work = chance.choice(["farm", "office", "school"])
        rich = int(hours > 35 and work != "farm")
        lines.append(f"{age},{hours},{work},{rich},{age / 65:.3f}")
    (folder / "census.csv").write_text("\n".join(lines) + "\n")
    return folder
