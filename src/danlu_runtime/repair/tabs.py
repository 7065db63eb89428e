"""Indentation by tabs and spaces in one block: Python 2 took a tab to the next eighth column."""

from danlu_runtime.repair.strings import lines_inside_strings

WIDTHS = (8, 4, 2)  # Python 2's own reading first, then what editors show


def expand(text: str, width: int) -> str:
    """Return the text with the tabs of its indentation as spaces; strings keep theirs."""
    inside = lines_inside_strings(text)
    lines = text.split("\n")
    return "\n".join(
        line if number in inside else _expanded(line, width) for number, line in enumerate(lines, 1)
    )


def _expanded(line: str, width: int) -> str:
    code = line.lstrip(" \t\f")
    return line[: len(line) - len(code)].expandtabs(width) + code
