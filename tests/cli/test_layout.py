import pytest

from danlu.cli.text import cut, fields, pad, table, width
from danlu.messages.text import duration, files_text, size


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("abc", 3),
        ("运行中", 6),
        ("ａ", 2),
        ("e\u0301", 1),
        ("\x1b[32m成功\x1b[0m", 4),
        ("", 0),
    ],
)
def test_width_counts_cells_not_characters(text, cells):
    assert width(text) == cells


def test_padding_fills_cells():
    assert pad("状态", 6) == "状态  "


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("训练作业", 6, "训练…"),
        ("训练", 4, "训练"),
    ],
)
def test_what_does_not_fit_is_cut(text, cells, shown):
    assert cut(text, cells) == shown


def test_a_table_keeps_its_columns_and_the_edge():
    rows = [("名称", "状态", "原因"), ("a-long-name", "失败", "x" * 50)]

    lines = table(rows, 30)

    assert [
        width(line[: line.index("状" if at == 0 else "失")]) for at, line in enumerate(lines)
    ] == [
        13,
        13,
    ]
    assert width(lines[1]) == 30


def test_value_of_several_lines_stays_in_its_column():
    assert fields([("a", "1\n2"), ("名称", "3")]) == ["a     1", "      2", "名称  3"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0 s"),
        (3.21, "3.2 s"),
        (65, "1 min 05 s"),
        (3700, "1 h 01 min"),
        (90_000, "1 d 01 h"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e9, "2.5 GB"), (5e15, "5000.0 TB")],
)
def test_sizes(count, text):
    assert size(count) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 files"), (1, "1 file"), (2, "2 files")])
def test_numbers_of_files(count, text):
    assert files_text(count) == text
