"""Detection of the service that a script was written for.

It is used only if no flag, field or job file names the service. The entry file is searched first,
then the directory or archive around it. Old scripts may not parse as Python 3, so the text
without its comments is searched.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from danlu.errors import Refused
from danlu.messages import get_message
from danlu.usercode.code_snapshot import CodeSnapshot

USUAL = "modelarts"

_COMMENT = re.compile(r"(?m)^[ \t]*#.*$")
_FOUR = (  # the functions of ModelMaker, also by the names of its predecessor
    "(?:model_fn|estimator_fn|keras_model_fn)",
    "train_input_fn",
    "eval_input_fn",
    "serving_input(?:_receiver)?_fn",
)
_VARIABLE = re.compile(
    r"\b[TS]M_(?:MODEL_DIR|OUTPUT\w*|INPUT\w*|CHANNEL\w*|HPS?\w*|HOSTS|CURRENT_HOST|NUM_[GC]PUS"
    r"|USER_\w+|TRAINING_ENV|MODULE_\w+)\b"
)
# A file that trains by itself is not for ModelMaker: Estimator scripts use the same names.
_TRAINS = re.compile(r"\btrain_and_evaluate\s*\(|\.train\s*\(\s*(?:input_fn|lambda)\b")
_RUNS = re.compile(r"\b__main__\b|\bmain\s*\(|\.(?:fit|run|train|train_on_batch)\s*\(")
_MOX_RUN = re.compile(r"\bmox(?:ing(?:\.tensorflow)?)?\.run\s*\(")


class DetectedService(NamedTuple):
    dialect: str
    why: str


def detect_service(seen: CodeSnapshot, entry: str) -> DetectedService:
    """Return the dialect of the code that starts with the file ``entry``, and the reason.

    ``entry`` is empty if it is unknown. Without a sign, the dialect is :data:`USUAL`.

    Raises:
        Refused: there are signs of two services.
    """
    signs = in_text(seen.texts.get(entry, ""))
    found = {
        name: get_message("dialect.because", entry=entry, sign=sign) for name, sign in signs.items()
    }
    if not found and seen.around:
        found = _around(seen, entry)
    if not found and (some := _some_of_four(seen.texts.get(entry, ""))):
        sign = get_message("dialect.sign.some_functions", names=", ".join(some))
        found = {"modelmaker": get_message("dialect.because", entry=entry, sign=sign)}
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise Refused(
            get_message("dialect.tie", first=one, why_first=first, second=other, why_second=second),
            hint=get_message("dialect.tie.hint", first=one, second=other),
        )
    for dialect, why in found.items():
        return DetectedService(dialect, why)
    return DetectedService(
        USUAL,
        get_message("dialect.usual", entry=entry) if entry else get_message("dialect.no_sign"),
    )


def _around(seen: CodeSnapshot, entry: str) -> dict[str, str]:
    """Return dialect and reason from the layout of a directory and its files except ``entry``."""
    found = {}
    if "setup.py" in seen.names and any(_is_task(name) for name in seen.names):
        found["kdl"] = get_message("dialect.package")
    for name, text in sorted(seen.texts.items()):
        for dialect, sign in in_text(text).items() if name != entry else ():
            found.setdefault(dialect, get_message("dialect.because", entry=name, sign=sign))
    return found


def _is_task(name: str) -> bool:
    return name.count("/") == 1 and name.endswith("/task.py")


def in_text(text: str) -> Mapping[str, str]:
    """Return dialect and sign for every service that the text of a script indicates."""
    code = _COMMENT.sub("", text)
    signs = {}
    if has_four(code) and not _TRAINS.search(code):
        signs["modelmaker"] = get_message("dialect.sign.functions")
    if _MOX_RUN.search(code):
        signs["dls"] = "mox.run"
    if variable := _VARIABLE.search(code):
        signs["ti"] = variable[0]
    return signs


def has_four(text: str) -> bool:
    """Return True if the text defines all four functions that ModelMaker calls."""
    return len(_of_four(text)) == len(_FOUR)


def _some_of_four(text: str) -> list[str]:
    """Return the ModelMaker functions of a file that defines two or more and runs nothing.

    Run as a script, such a file would do nothing and succeed.
    """
    code = _COMMENT.sub("", text)
    found = _of_four(code)
    return found if len(found) > 1 and not (_TRAINS.search(code) or _RUNS.search(code)) else []


def _of_four(text: str) -> list[str]:
    """Return the ModelMaker functions that the file defines, assigns or imports at top level."""
    found = []
    for name in _FOUR:
        imported = rf"from\s[^\n]*\bimport\b(?:\s*\([^)]*|[^\n(]*)\b{name}\b"
        bound = re.search(rf"(?m)^(?:def {name}\s*\(|{name}\s*=(?!=)|{imported})", text)
        if bound and (there := re.search(name, bound[0])):
            found.append(there[0])
    return found
