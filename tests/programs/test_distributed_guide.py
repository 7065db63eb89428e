"""The commands of the guide to several tasks, as a user types them."""

import re
import shlex
from pathlib import Path

import pytest

from pages import Page

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "distributed.md"


@pytest.fixture(scope="module")
def page():
    return Page(GUIDE)


def blocks(page, kind):
    return [block.text for block in page.blocks if block.kind == kind]


@pytest.fixture
def typed(page, resident):
    """Return a function that types the line of the guide with these words in it."""
    (resident.folder / "code" / "trainer").mkdir(parents=True, exist_ok=True)
    (resident.folder / "code" / "trainer" / "task.py").write_text("import tensorflow as tf\n")
    (resident.folder / "model.py").write_text("def model_fn(features, labels, mode): pass\n")
    (resident.folder / "train.py").write_text(*blocks(page, "python"))
    (resident.folder / "job.toml").write_text(*blocks(page, "toml"))
    lines = [line for text in blocks(page, "sh") for line in text.splitlines()]

    def type_line(*words):
        (line,) = [line for line in lines if all(word in line for word in words)]
        lines.remove(line)
        return resident.types(*shlex.split(line)[1:]).stdout

    return type_line


def tasks(plan):
    return re.findall(r"^((?:ps|worker|master|chief)-\d)$", plan, re.MULTILINE)


def test_two_nodes_train_as_documented(typed, resident):
    plan = typed("dls", "--dry-run")
    assert tasks(plan) == ["ps-0", "ps-1", "worker-0", "worker-1"]
    assert len(re.findall(r"--task_index=1 --ps_hosts=127\S+ --worker_hosts=127", plan)) == 2

    typed("--name two")

    log = typed("logs two")
    assert "[worker-0] worker 0 has ended" in log
    assert "[worker-1] worker 1 has ended" in log
    assert list((resident.folder / "out").glob("model.ckpt-10*.index"))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("kdl",), ["ps-0", "worker-0", "worker-1", "master-0"]),
        (("job.toml",), ["ps-0", "worker-0", "worker-1"]),
        (("modelmaker",), ["ps-0", "worker-0", "chief-0"]),
    ],
    ids=["kdl", "ti", "modelmaker"],
)
def test_every_service_has_the_tasks_of_its_picture(typed, page, words, found):
    assert tasks(typed(*words)) == found

    pictures = [
        block for block in blocks(page, "") if set(found) <= set(re.findall(r"\w+-\d", block))
    ]
    assert pictures
