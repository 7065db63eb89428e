"""What a command line gives to flags, and what its words are worth."""

from collections.abc import Mapping, Sequence
from typing import Any

from moxing.tensorflow.utils.flag_table import Flag, Value

BARE = "\0"  # stands alone on the command line, where a value is due: perhaps a script's own
_WORDS = {"true": True, "t": True, "1": True, "yes": True, "y": True}
_WORDS |= {"false": False, "f": False, "0": False, "no": False, "n": False}
_KINDS = {bool: "True or False", int: "a whole number", float: "a number", str: "text"}


def given(flags: Mapping[str, Flag], argv: Sequence[str]) -> dict[str, str]:
    """Return the text given to each flag on a command line; what is not ours is passed over.

    ``--x=v``, ``--x v``, ``--x`` and ``--nox`` are read, with one dash too; the last one counts,
    and nothing after ``--`` does.
    """
    found: dict[str, str] = {}
    words = zip(argv, [*argv[1:], None], strict=False)
    for word, following in words:
        if word == "--":
            break
        name, equals, text = _name(word).partition("=")
        if name in flags and equals:
            found[name] = text
        elif name in flags:
            takes = _takes(flags[name], following)
            bare = "True" if flags[name].type is bool else BARE
            found[name] = str(following) if takes else bare
            if takes:
                next(words)
        elif name[2:] in flags and name[:2] == "no" and flags[name[2:]].type is bool:
            found[name[2:]] = "False"
    return found


def convert(flag: Flag, value: Any, *, dashes: str = "--") -> Value:
    """Return a value as the flag's type; nothing (None, or an empty text) means the default.

    Raises:
        ValueError: it cannot be one.
    """
    if value == BARE:
        raise ValueError(f"--{flag.name} has no value: write --{flag.name}={flag.default or '…'}.")
    text = value.strip() if isinstance(value, str) else value
    if text is None or text == "":
        return flag.default
    try:
        return _converted(flag.type, text)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{dashes}{flag.name} must be {_KINDS[flag.type]}, got {value!r}."
        ) from None


def _converted(kind: type[Value], value: Any) -> Value:
    if kind is bool:
        if isinstance(value, str):
            return _word(value)
        if value in (0, 1):  # True and False, and NumPy's
            return bool(value)
        raise ValueError(value)
    if kind is str:
        if isinstance(value, str):
            return value
        raise ValueError(value)
    if isinstance(value, bool):
        raise ValueError(value)
    number = float(value)
    if kind is float:
        return number
    if number != int(number):
        raise ValueError(value)
    return int(number)


def _word(text: str) -> bool:
    if text.lower() not in _WORDS:
        raise ValueError(text)
    return _WORDS[text.lower()]


def _name(word: str) -> str:
    """Return a word without its dashes, or nothing when it has none."""
    return word[2:] if word.startswith("--") else word[1:] if word.startswith("-") else ""


def _takes(flag: Flag, following: str | None) -> bool:
    """Return whether the next word is the value of a flag without ``=``."""
    if flag.type is bool:  # `--x data.csv`: the word is the script's
        return following is not None and following.lower() in _WORDS
    return following is not None and not following.startswith("--")
