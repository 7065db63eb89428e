import pytest

from danlu.job.definitions import Constraint, text_of, value_of


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (Constraint(), ["", "a b", "1"], []),
        (Constraint(required=True), ["a"], [""]),
        (Constraint("Integer"), ["0", "-3", "+7", "12345678901234567890"], ["", "1.0", "1_0", "٣"]),
        (Constraint("Float"), ["1", ".5", "1.", "-1e-3"], ["", "nan", "inf", "1e999", " 1", "x"]),
        (Constraint("Boolean"), ["true", "False"], ["", "1", "yes"]),
        (
            Constraint("Integer", valid_type="range", valid_range=("1", "10")),
            ["1", "10"],
            ["0", "11", "x"],
        ),
        (
            Constraint("Float", valid_type="range", valid_range=("0", "0.1")),
            ["0", "1e-1", "0.05"],
            ["-1e-9", "0.11"],
        ),
        (
            Constraint(valid_type="choice", valid_range=("sgd", "adam")),
            ["sgd", "adam"],
            ["", "Adam", "sgd "],
        ),
        (
            Constraint("Float", valid_type="choice", valid_range=("0.1", "1")),
            ["1e-1", "1.0"],
            ["2"],
        ),
    ],
    ids=str,
)
def test_constraint_accepts_its_values_only(constraint, good, bad):
    assert [text for text in good if not constraint.allows(text)] == []
    assert [text for text in bad if constraint.allows(text)] == []


def test_long_number_is_refused_without_parsing():
    assert value_of("Integer", "9" * 5000) is None


def test_expected_value_is_described():
    ranged = Constraint("Integer", valid_type="range", valid_range=("1", "10"))

    assert ranged.expected == "a whole number from 1 to 10"
    assert Constraint(valid_type="choice", valid_range=("a", "b")).expected == "one of 'a', 'b'"
    assert Constraint("Boolean").expected == "'true' or 'false'"


def test_plain_values_are_command_line_text():
    assert [text_of(value) for value in (True, 3, 0.5, "x", None, [])] == [
        "true", "3", "0.5", "x", None, None,
    ]  # fmt: skip
