"""Which service a script was written for, and how one can tell.

A flag, a field or a job file decides before this is asked. Then the file to start, then the
directory or archive around it. Old scripts may not parse as Python 3, so the text is searched,
without its comments.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from danlu.errors import Refused
from danlu.words import say

USUAL = "modelarts"

_COMMENT = re.compile(r"(?m)^[ \t]*#.*$")
_FOUR = (  # with the names of the service's ancestor
    "(?:model_fn|estimator_fn|keras_model_fn)",
    "train_input_fn",
    "eval_input_fn",
    "serving_input(?:_receiver)?_fn",
)
_VARIABLE = re.compile(
    r"\b[TS]M_(?:MODEL_DIR|OUTPUT\w*|INPUT\w*|CHANNEL\w*|HPS?\w*|HOSTS|CURRENT_HOST|NUM_[GC]PUS"
    r"|USER_\w+|TRAINING_ENV|MODULE_\w+)\b"
)
# A file that trains by itself only shares the names: the usual ones of an Estimator's parts.
_TRAINS = re.compile(r"\btrain_and_evaluate\s*\(|\.train\s*\(\s*(?:input_fn|lambda)\b")
_RUNS = re.compile(r"\b__main__\b|\bmain\s*\(|\.(?:fit|run|train|train_on_batch)\s*\(")
_MOX_RUN = re.compile(r"\bmox(?:ing(?:\.tensorflow)?)?\.run\s*\(")


class Evidence(NamedTuple):
    dialect: str
    why: str


class Seen(NamedTuple):
    """What can be seen of code on this machine; ``around``: it is more than the file to start."""

    names: frozenset[str] = frozenset()
    texts: Mapping[str, str] = MappingProxyType({})
    around: bool = True


def find(seen: Seen, entry: str) -> Evidence:
    """Return the dialect of the code that starts with the file ``entry``, empty if unknown.

    Raises:
        Refused: there are signs of two services.
    """
    signs = in_text(seen.texts.get(entry, ""))
    found = {name: say("dialect.because", entry=entry, sign=sign) for name, sign in signs.items()}
    if not found and seen.around:
        found = _around(seen, entry)
    if not found and (some := _some_of_four(seen.texts.get(entry, ""))):
        sign = say("dialect.sign.some_functions", names=", ".join(some))
        found = {"modelmaker": say("dialect.because", entry=entry, sign=sign)}
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise Refused(
            say("dialect.tie", first=one, why_first=first, second=other, why_second=second),
            hint=say("dialect.tie.hint", first=one, second=other),
        )
    for dialect, why in found.items():
        return Evidence(dialect, why)
    return Evidence(USUAL, say("dialect.usual", entry=entry) if entry else say("dialect.no_sign"))


def _around(seen: Seen, entry: str) -> dict[str, str]:
    """Return the signs of a directory: its form, and the texts beside the one to start."""
    found = {}
    if "setup.py" in seen.names and any(_is_task(name) for name in seen.names):
        found["kdl"] = say("dialect.package")
    for name, text in sorted(seen.texts.items()):
        for dialect, sign in in_text(text).items() if name != entry else ():
            found.setdefault(dialect, say("dialect.because", entry=name, sign=sign))
    return found


def _is_task(name: str) -> bool:
    return name.count("/") == 1 and name.endswith("/task.py")


def in_text(text: str) -> Mapping[str, str]:
    """Return dialect and sign for every service the text of a script points to."""
    code = _COMMENT.sub("", text)
    signs = {}
    if has_four(code) and not _TRAINS.search(code):
        signs["modelmaker"] = say("dialect.sign.functions")
    if _MOX_RUN.search(code):
        signs["dls"] = "mox.run"
    if variable := _VARIABLE.search(code):
        signs["ti"] = variable[0]
    return signs


def has_four(text: str) -> bool:
    """Tell whether the functions ModelMaker calls are all there."""
    return len(_of_four(text)) == len(_FOUR)


def _some_of_four(text: str) -> list[str]:
    """Return the functions of a file that has no other use for them: one of the four is missing.

    As a script it would do nothing, and succeed.
    """
    code = _COMMENT.sub("", text)
    found = _of_four(code)
    return found if len(found) > 1 and not (_TRAINS.search(code) or _RUNS.search(code)) else []


def _of_four(text: str) -> list[str]:
    """Return the names that are defined, assigned or imported at the file's outermost level."""
    found = []
    for name in _FOUR:
        imported = rf"from\s[^\n]*\bimport\b(?:\s*\([^)]*|[^\n(]*)\b{name}\b"
        bound = re.search(rf"(?m)^(?:def {name}\s*\(|{name}\s*=(?!=)|{imported})", text)
        if bound and (there := re.search(name, bound[0])):
            found.append(there[0])
    return found
