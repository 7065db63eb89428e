"""Whole programs of MoXing through the command line, in the manner of its manual."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from pages import Page

EXAMPLES = Path(__file__).parents[2] / "examples" / "moxing"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "mox-run.md"


def lines(program):
    """Return the lines of the examples' page that run a program."""
    (block,) = (block for block in Page(EXAMPLES / "README.md").blocks if block.kind == "sh")
    return [line for line in block.text.splitlines() if program in line]


@pytest.fixture
def example(person):
    """The folder of the examples, with their data, and a way to type a line of their page there."""
    home = person.folder / "moxing"
    shutil.copytree(EXAMPLES, home)
    subprocess.run([sys.executable, "make_data.py", "data"], cwd=home, check=True)

    def types(line, *more):
        return person.types(*shlex.split(line)[1:], *more, cwd=home).stdout

    return home, types


def numbers(pattern, log):
    return [float(found) for found in re.findall(pattern, log)]


def accuracies(printed):
    return numbers(r"\[VALIDATION METRICS\] step: \d+ accuracy: ([0-9.]+)", printed)


@pytest.mark.parametrize("line", lines("pictures.py")[1:], ids=["four clones", "two nodes"])
def test_pictures_are_learned_by_many_as_by_one(example, line):
    home, types = example

    accuracy = accuracies(types(line))

    assert len(accuracy) == 3
    assert accuracy[-1] > 0.9
    out = re.search(r"--train-url (\S+)", line)[1]
    assert (home / out / "model" / "saved_model.pb").exists()


def test_pictures_are_learned_evaluated_exported_and_predicted(person, example):
    home, types = example

    accuracy = accuracies(types(lines("pictures.py")[0], "--name", "shapes"))

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


def test_large_batches_in_half_precision_learn_with_lars(example):
    _, types = example
    (line,) = lines("large_batch.py")

    printed = types(line)

    losses, accuracy = (numbers(rf"\t{name}: ([0-9.]+)", printed) for name in ("loss", "accuracy"))
    # A line is of one batch, and one picture of sixteen may be a hard one.
    assert median(losses[-3:]) < losses[0] / 3
    assert median(accuracy[-3:]) > 0.9


def test_keras_json_model_keeps_its_accuracy(person, example):
    _, types = example
    (line,) = lines("sequences.py")

    printed = types(line)

    (evaluated,) = numbers(r"accuracy: ([0-9.]+)\t\[640 examples\]", printed)
    assert evaluated > 0.85
    assert "model.json" in person.types("store", "ls", "obs://models/sequences/").stdout


def test_two_losses_train_with_remote_log_dir(person, example):
    _, types = example
    (line,) = lines("gan.py")

    printed = types(line, "--name", "gan")

    means = numbers(r"\tmean: (-?[0-9.]+)", printed)
    assert abs(means[0]) < 1.5
    assert abs(means[-1] - 4) < 1.5
    steps = person.asks("show", "gan")["steps"]
    assert (steps["step"], steps["total"]) == (401, 401)
    listed = person.types("store", "ls", "obs://models/gan/").stdout
    assert "model.ckpt-401.index" in listed
    assert "events.out.tfevents" in listed


def test_steps_are_shown_and_can_be_limited(person, example):
    _, types = example
    (line,) = lines("gan.py")

    types(line, "--name", "short", "--max-steps", "42")

    job = person.asks("show", "short")
    assert (job["state"], job["steps"]["step"], job["steps"]["total"]) == ("succeeded", 42, 42)
    assert "model.ckpt-42.index" in person.types("store", "ls", "obs://models/gan/").stdout


def test_program_of_the_guide_runs_as_documented(person):
    (program,) = (block for block in Page(GUIDE).blocks if block.kind == "python")
    person.script(program.text)

    person.types("run", "code/train.py", "--name", "guide")

    listed = person.types("store", "ls", "obs://models/sum/").stdout
    assert "model.ckpt-" in listed
    assert "saved_model.pb" in person.types("store", "ls", "obs://models/sum/1/").stdout
    assert "[EarlyStopping] step: 19 loss: " in person.types("logs", "guide").stdout
