"""What is shown of a training: its step, its rate, the time left, its curves."""

import json
import time

import pytest

from danlu import messages
from danlu.cli.show import spark
from danlu.job.describe import steps_text

TRAINS = {"step": 1200, "total": 5000, "rate": 35.2, "at": 100.0}


@pytest.fixture
def trained(danlu, client, script):
    client.steps = TRAINS
    danlu("run", "code", "--name", "mnist", "--detach")


@pytest.fixture
def chinese():
    messages.use("zh")
    yield
    messages.use("en")


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({}, "step 1,200/5,000 · 35.2/s · 1 min 47 s left"),
        ({"total": None}, "step 1,200 · 35.2/s"),
        ({"rate": 0.0}, "step 1,200/5,000"),
        ({"rate": 0.0512}, "step 1,200/5,000 · 0.0512/s · 20 h 36 min left"),
        ({"rate": 12345.6}, "step 1,200/5,000 · 12,346/s · 0.3 s left"),
        ({"step": 5000}, "step 5,000/5,000 · 35.2/s"),
    ],
)
def test_the_line_of_a_training(changed, text):
    assert steps_text({"steps": {**TRAINS, **changed}}) == text


def test_a_training_in_chinese(chinese):
    assert steps_text({"steps": TRAINS}) == "第 1,200/5,000 步 · 35.2 步/秒 · 还需 1 min 47 s"


def test_job_without_steps_shows_no_progress():
    assert steps_text({"steps": None}) == ""


def test_show_and_ls_report_step_of_training_job(danlu, trained):
    assert "training   step 1,200/5,000 · 35.2/s · 1 min 47 s left" in danlu("show", "mnist").out
    assert "step 1,200/5,000 · 35.2/s" in danlu("ls").out


def test_of_ended_job_only_step_is_reported(danlu, client, trained):
    client.finish("mnist")

    assert "training   step 1,200/5,000\n" in danlu("show", "mnist").out
    assert "step" not in danlu("ls").out.splitlines()[1]


@pytest.fixture
def still(client, trained):
    sentences = {"en": "It may hang.", "zh": "可能卡住了。"}
    client.hang = {"since": time.time() - 725, **sentences, "next": "danlu logs mnist --tail 50"}


def test_hung_job_is_shown_with_time_and_hint(danlu, still):
    shown = danlu("show", "mnist").out

    assert "hangs?     nothing has moved for 12 min 05 s, since " in shown
    assert ". It may hang.\n" in shown
    assert "next       danlu logs mnist --tail 50\n" in shown
    assert danlu("ls").out.splitlines()[1].endswith("nothing has moved for 12 min 05 s")


def test_it_is_reported_in_chinese_too(danlu, still):
    shown = danlu("--lang", "zh", "show", "mnist").out

    assert "卡死？" in shown
    assert "已 12 min 05 s 没有任何进展（自 " in shown
    assert "可能卡住了。" in shown


def test_running_job_is_not_shown_as_hanging(danlu, trained):
    assert "hang" not in danlu("show", "mnist").out


def _curve(tag, values, run="train", task="worker-0"):
    points = [[step * 10, 100.0 + step, value] for step, value in enumerate(values)]
    return {"task": task, "run": run, "tag": tag, "points": points}


def test_curves_are_a_row_each_with_their_shape(danlu, client, trained):
    client.drawn = [_curve("loss", [2.0, 1.0, 0.25, 0.5]), _curve("错误", [0.5, "NaN", "NaN"])]
    client.left_out = 3

    assert danlu("show", "mnist", "--curves").out.splitlines() == [
        "RUN    TAG   FIRST  LAST  MIN   MAX  STEPS",
        "train  loss  2      0.5   0.25  2    0-30   █▄▁▂",
        "train  错误  0.5    NaN   0.5   0.5  0-20   ▁××",
        "",
        "3 more curves are not kept.",
    ]


def test_tasks_of_curves_are_reported_for_several(danlu, client, trained):
    client.drawn = [_curve("loss", [1.0], task=f"worker-{index}") for index in (0, 1)]

    rows = [line.split()[:3] for line in danlu("show", "mnist", "--curves").out.splitlines()]
    assert rows == [
        ["TASK", "RUN", "TAG"],
        ["worker-0", "train", "loss"],
        ["worker-1", "train", "loss"],
    ]


def test_curves_as_json_have_every_point(danlu, client, trained):
    client.drawn = [_curve("loss", [2.0, 1.0])]

    reported = json.loads(danlu("show", "mnist", "--curves", "--json").out)
    assert reported["curves"][0]["points"] == [[0, 100.0, 2.0], [10, 101.0, 1.0]]


def test_missing_curves_are_reported(danlu, client, trained):
    assert "No TensorBoard summaries in the outputs yet" in danlu("show", "mnist", "--curves").out

    client.finish("mnist")
    assert "No TensorBoard summaries in the outputs.\n" in danlu("show", "mnist", "--curves").out


def test_curves_and_translation_are_not_shown_together(danlu, trained):
    result = danlu("show", "mnist", "--curves", "--translation")

    assert result.code == 2
    assert "exclude each other" in result.err


@pytest.mark.parametrize(
    ("values", "shape"),
    [
        ([1.0], "▁"),
        ([1.0, 1.0, 1.0], "▁▁▁"),
        ([0.0, 7.0], "▁█"),
        (["NaN", "NaN"], "××"),
        ([float(n) for n in range(48)], "▁▁▁▂▂▂▃▃▃▄▄▄▅▅▅▆▆▆▇▇▇███"),
    ],
)
def test_the_shape_of_a_curve(values, shape):
    assert spark(_curve("loss", values)["points"]) == shape
