"""Printed lines of two runs: aligned by their text, compared by their numbers."""

import pytest

from danlu.cli.verify.printed import compare, difference, line, logged, results


def compared(one, other, tolerance=1e-3, **options):
    return compare(results(one), results(other), tolerance, **options)


@pytest.mark.parametrize(
    ("text", "pattern", "numbers"),
    [
        ("step 10, loss = 0.25", "step #, loss = #", ("10", "0.25")),
        ("layer dense_1 has 3 units", "layer dense_1 has # units", ("3",)),
        ("[0.5  -1e-3]", "[# #]", ("0.5", "-1e-3")),
        ("[ 0.5 nan]", "[# #]", ("0.5", "nan")),
        ("v1.15.5", "v1.15.5", ()),
        ("loss:2.0 (0.12 sec)", "loss:# (<time>)", ("2.0",)),
        ("10/10 - 3s 12ms/step - loss: 0.5", "#/# - <time> <time> - loss: #", ("10", "10", "0.5")),
        ("global_step/sec: 81.25", "<time>", ()),
        ("2020-01-02 03:04:05.678 epoch 3", "<time> epoch #", ("3",)),
        ("step 3, 120.5 examples/sec", "step #, <time>", ("3",)),
        ("time: 12.5 cost 3", "<time> cost #", ("3",)),
        ("at 0x7f00aa11", "at <time>", ()),
    ],
)
def test_times_are_no_numbers_of_line(text, pattern, numbers):
    found = line(text)

    assert (found.pattern, found.numbers) == (pattern, numbers)


@pytest.mark.parametrize(
    ("one", "other", "agrees"),
    [
        ("loss 0.5000", "loss 0.5004", True),
        ("loss 0.0500", "loss 0.0501", True),  # the last digit may be rounded
        ("loss 0.50000", "loss 0.50100", False),
        ("loss 0.91", "loss 0.92", False),
        ("step 1", "step 2", False),
        ("loss nan", "loss nan", True),
        ("loss nan", "loss 0.5", False),
        ("loss 1e-08", "loss 2e-08", False),
    ],
)
def test_numbers_agree_within_tolerance(one, other, agrees):
    assert compared(one, other).agrees is agrees


def test_each_number_of_pattern_is_one_metric():
    one = "step 1, loss = 0.50\nstep 2, loss = 0.40"
    other = "step 1, loss = 0.50\nstep 2, loss = 0.30"

    step, loss = compared(one, other).metrics

    assert (step.label, step.pairs, step.agrees) == ("step", 2, True)
    assert (loss.label, loss.agrees) == ("loss", False)
    assert loss.worst == loss.last == ("0.40", "0.30")
    assert loss.largest == pytest.approx(0.25)


def test_line_of_one_run_does_not_shift_others():
    one = "begin\nloss 1.0\nloss 2.0\nend"
    other = "begin\nwarning\nloss 1.0\nloss 2.0\nend"

    found = compared(one, other)

    assert found.only_danlu == ["warning"]
    assert found.only_reference == []
    assert all(metric.agrees for metric in found.metrics)
    assert not found.agrees


def test_long_outputs_are_matched_by_turn():
    one = "first\n" + "loss 1.0\nname a\n" * 1500 + "x"
    other = "loss 1.0\nname a\n" * 1500 + "last\ny"

    found = compared(one, other)

    assert found.only_reference == ["first", "x"]
    assert found.only_danlu == ["last", "y"]


def test_progress_bars_and_own_lines_are_no_results():
    text = "3/9 [==>...] - ETA: 3s\n 40%|### |\n[danlu] repaired\na 1\rb 2\n"

    assert [each.text for each in results(text)] == ["b 2"]


def test_only_log_records_are_read_from_errors():
    text = (
        "INFO:tensorflow:loss = 0.5, step = 3 (0.1 sec)\n"
        "I1118 10:00:00.123456 12345 file.py:26] accuracy = 0.5\n"
        "WARNING:tensorflow:1 old name\nUsing 3 cores\nINFO:tensorflow:Done.\n"
    )

    assert [each.text for each in logged(text)] == [
        "loss = 0.5, step = 3 (0.1 sec)",
        "accuracy = 0.5",
    ]
    assert compare(logged(text), [], 0.1, loose=True).agrees


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [(0.0, 0.0, 0.0), (1.0, 2.0, 0.5), (-1.0, 1.0, 2.0), (0.0, 1e-9, 1.0), (1.0, float("inf"), -1)],
)
def test_difference_is_part_of_larger_number(one, other, apart):
    assert difference(one, other) == (float("inf") if apart < 0 else apart)
