"""Networks trained by their names, through the command line."""

import random
import re
import shlex
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from pages import Page

SHARED_HOME = True

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "presets.md"


def draw(folder, kinds, each):
    """Write pictures of bars, circles and crosses, of several sizes and colours."""
    chance = random.Random(1)
    for kind in kinds:
        (folder / kind).mkdir(parents=True)
        for number in range(each):
            side = 24 + number % 5 * 4
            colour = (chance.randrange(80), chance.randrange(80), chance.randrange(80))
            picture = Image.new("RGB", (side, side), colour)
            pen, quarter, middle = ImageDraw.Draw(picture), side // 4, side // 2
            if kind == "circle":
                pen.ellipse([quarter, quarter, 3 * quarter, 3 * quarter], fill="white")
            else:
                pen.rectangle([middle - 2, 1, middle + 1, side - 2], fill="white")
            if kind == "cross":
                pen.rectangle([1, middle - 2, side - 2, middle + 1], fill="white")
            picture.save(folder / kind / f"{number}.png")


@pytest.mark.services
def test_commands_of_guide_train_fine_tune_and_evaluate(person):
    draw(person.folder / "flowers", ("bar", "circle", "cross"), 50)
    draw(person.folder / "birds", ("circle", "cross"), 20)
    lines = [line for b in Page(GUIDE).blocks if b.kind == "sh" for line in b.text.splitlines()]
    train, listing, tune, evaluate = (shlex.split(line)[1:] for line in lines)

    trained = person.types(*train).stdout

    accuracy = re.findall(r"\[VALIDATION METRICS\] step: \d+ .*accuracy: ([0-9.]+)", trained)
    assert len(accuracy) == 4
    assert float(accuracy[-1]) > 0.8  # a third would be chance
    assert "saved_model.pb" in person.types(*listing).stdout
    labels = person.types("store", "cat", "obs://models/flowers/labels.txt").stdout
    assert labels == "0: bar\n1: circle\n2: cross\n"

    tuned = person.types(*tune).stdout
    assert "was trained for 3 classes and there are 2: its classifier (logits) begins" in tuned
    assert "model.ckpt-5.index" in person.types("store", "ls", "obs://models/birds/").stdout

    reported = person.types(*evaluate).stdout
    found = re.search(r"accuracy: ([0-9.]+)\t\[\d+ examples\]", reported)
    assert found
    assert float(found[1]) > 0.8


def test_faulty_data_is_cause_of_failure(person):
    draw(person.folder / "loose", ("circle",), 1)

    done = person.types(
        "run", "--preset", "lenet", "--data-url", "loose/circle", "--train-url", "out", code=5
    )

    assert "0.png' lies in it directly. Put the images of each class into" in done.stderr
    assert "Traceback" not in done.stdout
