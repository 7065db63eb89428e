"""Whole programs of MoXing through the command line, in the manner of its manual."""

import re
import shutil
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from pages import Page

SOURCES = Path(__file__).parent / "moxing"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "mox-run.md"


def place(person, name):
    home = person.folder / name
    (home / "code").mkdir(parents=True)
    shutil.copy(SOURCES / f"{name}.py", home / "code" / "train.py")
    return home


def draw_shapes(folder):
    """Write 40 pictures of circles and 40 of bars, of several sizes."""
    for number in range(80):
        kind = ("bar", "circle")[number % 2]
        side = 20 + number % 7 * 4
        picture = Image.new("RGB", (side, side + number % 3), (40, number, 60))
        pen = ImageDraw.Draw(picture)
        at = [side // 4, side // 4, side * 3 // 4, side * 3 // 4]
        if kind == "circle":
            pen.ellipse(at, fill=(250, 250, 250))
        else:
            pen.rectangle([side // 2 - 2, 1, side // 2 + 1, side - 2], fill=(250, 250, 250))
        (folder / kind).mkdir(parents=True, exist_ok=True)
        picture.save(folder / kind / f"{number}.png")


def numbers(pattern, log):
    return [float(found) for found in re.findall(pattern, log)]


def learn_shapes(person, *words):
    """Run the program; return its folder and the accuracy of its evaluations."""
    home = place(person, "shapes")
    draw_shapes(home / "data")
    done = person.types(
        "run", home / "code", "--dialect", "dls", "--boot-file", "train.py", "--name", "shapes",
        "--data-url", home / "data", "--train-url", home / "out",
        "-p", "result_url=obs://results/shapes.csv", *words,
    )  # fmt: skip
    return home, numbers(r"\[VALIDATION METRICS\] step: \d+ accuracy: ([0-9.]+)", done.stdout)


@pytest.mark.parametrize(
    "words",
    [
        ("-p", "num_gpus=4", "-p", "batch_size=4"),
        ("--nodes", "2", "--cpus", "0.5", "-p", "batch_size=8"),
    ],
    ids=["four clones", "two nodes"],
)
def test_pictures_are_learned_by_many_as_by_one(person, words):
    home, accuracy = learn_shapes(person, *words)

    assert len(accuracy) == 3
    assert accuracy[-1] > 0.9
    assert (home / "out" / "model" / "saved_model.pb").exists()


def test_pictures_are_learned_evaluated_exported_and_predicted(person):
    home, accuracy = learn_shapes(person)

    assert len(accuracy) == 3
    assert accuracy[-1] > 0.9
    assert (home / "out" / "model" / "saved_model.pb").exists()
    assert (home / "out" / "labels.txt").read_text() == "0: bar\n1: circle\n"
    predictions = person.types("store", "cat", "obs://results/shapes.csv").stdout.splitlines()
    assert [len(line.split(",")) for line in predictions] == [16] * 4
    curves = person.asks("show", "shapes", "--curves")["curves"]
    assert {(curve["run"], curve["tag"]) for curve in curves} >= {
        (".", "loss"), (".", "accuracy"), (".", "learning_rate"), ("eval", "accuracy"),
    }  # fmt: skip


def test_two_losses_train_two_networks_and_a_log_dir_may_be_in_the_store(person):
    home = place(person, "gan")

    done = person.types("run", home / "code" / "train.py", "--name", "gan")

    means = numbers(r"\tmean: (-?[0-9.]+)", done.stdout)
    assert abs(means[0]) < 1.5
    assert abs(means[-1] - 4) < 1.5
    steps = person.asks("show", "gan")["steps"]
    assert (steps["step"], steps["total"]) == (401, 401)
    listed = person.types("store", "ls", "obs://models/gan/").stdout
    assert "model.ckpt-401.index" in listed
    assert "events.out.tfevents" in listed


def test_steps_are_shown_and_can_be_limited(person):
    home = place(person, "gan")

    person.types("run", home / "code" / "train.py", "--name", "short", "--max-steps", "42")

    job = person.asks("show", "short")
    assert (job["state"], job["steps"]["step"], job["steps"]["total"]) == ("succeeded", 42, 42)
    assert "model.ckpt-42.index" in person.types("store", "ls", "obs://models/gan/").stdout


def test_the_program_of_the_guide_runs_as_it_says(person):
    (program,) = (block for block in Page(GUIDE).blocks if block.kind == "python")
    person.script(program.text)

    person.types("run", "code/train.py", "--name", "guide")

    listed = person.types("store", "ls", "obs://models/sum/").stdout
    assert "model.ckpt-" in listed
    assert "saved_model.pb" in person.types("store", "ls", "obs://models/sum/1/").stdout
    assert "[EarlyStopping] step: 19 loss: " in person.types("logs", "guide").stdout
