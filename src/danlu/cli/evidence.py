"""Which service a script was written for, and how one can tell.

A flag or a job file decides before this is asked. Old scripts may not parse as Python 3, so the
text is searched, without its comments.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from danlu.errors import Refused
from danlu.words import say

USUAL = "modelarts"

_COMMENT = re.compile(r"(?m)^\s*#.*$")
_FOUR = ("model_fn", "train_input_fn", "eval_input_fn", "serving_input_receiver_fn")
_VARIABLE = re.compile(
    r"\b[TS]M_(?:MODEL_DIR|OUTPUT\w*|INPUT\w*|CHANNEL\w*|HPS?\w*|HOSTS|CURRENT_HOST|NUM_[GC]PUS"
    r"|USER_\w+|TRAINING_ENV|MODULE_\w+)\b"
)
_MOX_RUN = re.compile(r"\bmox(?:ing(?:\.tensorflow)?)?\.run\s*\(")


@dataclass(frozen=True)
class Evidence:
    dialect: str
    why: str


def find(entry: str, folder: Path) -> Evidence:
    """Return the dialect of the script ``entry`` in ``folder``.

    Raises:
        Refused: there are signs of two services.
    """
    signs = in_text(_read(folder / entry))
    if len(signs) > 1:
        (one, first), (other, second) = list(signs.items())[:2]
        raise Refused(
            say(
                "dialect.tie",
                entry=entry,
                first=one,
                why_first=first,
                second=other,
                why_second=second,
            ),
            hint=say("dialect.tie.hint", first=one, second=other),
        )
    for dialect, sign in signs.items():
        return Evidence(dialect, say("dialect.because", entry=entry, sign=sign))
    if (folder / "setup.py").is_file() and list(folder.glob("*/task.py")):
        return Evidence("kdl", say("dialect.package"))
    return Evidence(USUAL, say("dialect.usual", entry=entry))


def in_text(text: str) -> Mapping[str, str]:
    """Return dialect and sign for every service the text of a script points to."""
    code = _COMMENT.sub("", text)
    signs = {}
    if all(re.search(rf"(?m)^def {name}\s*\(", code) for name in _FOUR):
        signs["modelmaker"] = say("dialect.sign.functions")
    if _MOX_RUN.search(code):
        signs["dls"] = "mox.run"
    if variable := _VARIABLE.search(code):
        signs["ti"] = variable[0]
    return signs


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
