"""Cards for code that cannot run here: modules that are not there, Python 2, TensorFlow 1."""

import os
import re
from collections.abc import Iterable

from danlu.job.framework import is_first
from danlu.job.package_names import OTHERWISE, SAME
from danlu.job.status import Frame
from danlu.service.card_case import Case, Values, listed
from danlu.service.card_names import METHODS, MOVED, NAMES, NPU, TF1

_REQUIREMENTS = {
    "modelarts": "pip-requirements.txt",
    "dls": "pip-requirements.txt",
    "kdl": "setup.py (install_requires)",
}
_SYNTAX: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"Missing parentheses in call to 'print'"), r"", "print(…)"),
    (re.compile(r"Missing parentheses in call to 'exec'"), r"", "exec(…)"),
    (re.compile(r"multiple exception types must be"), r"except\s", "except Error as name:"),
    (re.compile(r"leading zeros in decimal integer"), r"", "0o…"),
    (re.compile(r"invalid syntax"), r"except\s+[\w.()]+\s*,\s*\w+\s*:", "except Error as name:"),
    (re.compile(r"invalid syntax"), r"raise\s+[\w.]+\s*,", "raise Error(…)"),
    (re.compile(r"invalid syntax"), r"<>", "!="),
    (re.compile(r"invalid syntax"), r"`[^`]+`", "repr(…)"),
    (re.compile(r"invalid decimal literal"), r"\b\d+[lL]\b", "int"),
)
_MISSING = re.compile(r"No module named '?(?P<name>[\w.]+)'?(?:;.*)?")
_CHARACTER = re.compile(r"invalid (?:non-printable )?character (?:'.' )?\(?U\+([0-9A-F]{4,6})")
_FULL_WIDTH = ((0x2010, 0x2027), (0x3000, 0x303F), (0xFF00, 0xFFEF), (0x00A0, 0x00A0))
_TF_ATTRIBUTE = re.compile(r"module 'tensorflow[\w.]*' has no attribute '(\w+)'.*")


def _module(case: Case) -> str:
    if case.raised not in ("ModuleNotFoundError", "ImportError"):
        return ""
    match = _MISSING.fullmatch(case.failure.message)
    return match["name"] if match else ""


def _is(module: str, packages: Iterable[str]) -> bool:
    return module.split(".")[0] in packages


def module_moxing(case: Case) -> Values | None:
    if case.raised == "Unsupported" and case.failure.message.startswith("MoXing is not built yet"):
        name = re.search(r"moxing[\w.]*", case.failure.message)
        return {"module": name[0] if name else "moxing"}
    module = _module(case)
    return {"module": module} if _is(module, ("moxing",)) else None


def module_tensorflow1(case: Case) -> Values | None:
    """Of TensorFlow 1 itself a name that is gone says so, and what to use instead."""
    version = case.job.spec.tensorflow
    if is_first(version):
        return None
    module, seen = _module(case), f"TensorFlow {version or 2}"
    if module.startswith("tensorflow."):
        return {"thing": module, "seen": seen}
    if case.raised != "AttributeError":
        return None
    name = _TF_ATTRIBUTE.fullmatch(case.failure.message)
    return {"thing": name[1], "seen": seen} if name and name[1] in TF1 else None


def module_tensorflow(case: Case) -> Values | None:
    module = _module(case)
    return {} if module == "tensorflow" and not case.failure.found else None


def module_case(case: Case) -> Values | None:
    """Windows and macOS do not tell ``Utils.py`` from ``utils.py``; Linux does."""
    module, found = _module(case), case.failure.found
    path = module.replace(".", "/")
    if not module or not found or found.removesuffix(".py").endswith(path):
        return None
    return {"module": module, "found": found}


def module_in_code(case: Case) -> Values | None:
    module, found = _module(case), case.failure.found
    if not module or not found:
        return None
    here = os.path.dirname(case.failure.where.file) if case.failure.where else ""
    top = found.removesuffix(".py")[: -len(module)].rstrip("/")
    folder = os.path.relpath(top or ".", here or ".")
    return {"module": module, "found": found, "folder": repr(folder)}


def module_python2(case: Case) -> Values | None:
    module = _module(case)
    instead = MOVED.get(module.split(".")[0])
    return {"module": module, "instead": instead} if instead else None


def module_npu(case: Case) -> Values | None:
    """Scripts that were moved to Huawei's own processors; ModelArts offers both."""
    module = _module(case)
    return {"module": module} if _is(module, NPU) else None


def module_package(case: Case) -> Values | None:
    module = _module(case)
    top = module.split(".")[0]
    if top not in SAME and top not in OTHERWISE:
        return None
    return {"module": module, "package": OTHERWISE.get(top, top), "file": _file(case)}


def module_unknown(case: Case) -> Values | None:
    module = _module(case)
    return {"module": module, "file": _file(case)} if module else None


def _file(case: Case) -> str:
    return _REQUIREMENTS.get(case.job.spec.dialect, "requirements.txt")


def python2_syntax(case: Case) -> Values | None:
    where = case.failure.where
    if case.raised != "SyntaxError" or where is None:
        return None
    for message, text, instead in _SYNTAX:
        if message.match(case.failure.message) and re.search(text, where.text):
            return {"file": where.file, "line": where.line, "instead": instead}
    return None


def keyword_near(case: Case) -> Values | None:
    """A keyword with letters that changed places: the runtime has tried which cures the line."""
    where = case.failure.where
    meant = re.search(r"Did you mean '(\w+)'\?$", case.failure.message.partition(" (")[0])
    if case.raised != "SyntaxError" or where is None or not meant:
        return None
    return {"file": where.file, "line": where.line, "keyword": meant[1]}


def python2_tabs(case: Case) -> Values | None:
    where = case.failure.where
    if case.raised != "TabError" or where is None:
        return None
    return {"file": where.file, "line": where.line}


def python2_name(case: Case) -> Values | None:
    if case.raised == "NameError":
        found = re.match(r"name '(\w+)' is not defined", case.failure.message)
        known = NAMES
    elif case.raised == "AttributeError":
        found = re.match(
            r"'\w{0,100}[dD]ict\w{0,100}' object has no attribute '(\w+)'", case.failure.message
        )
        known = METHODS
    elif case.raised == "TypeError":
        found = re.search(r'for >>: .* Did you mean "(print\()', case.failure.message)
        return {"word": "print >>", "instead": "print(…, file=…)"} if found else None
    else:
        return None
    if not found or found[1] not in known:
        return None
    return {"word": found[1], "instead": known[found[1]]}


def full_width(case: Case) -> Values | None:
    """Punctuation of a Chinese keyboard, or of a web page the code was copied from."""
    where = case.failure.where
    if case.raised != "SyntaxError" or where is None:
        return None
    number, column = _odd_character(case.failure.message, where)
    if not any(first <= number <= last for first, last in _FULL_WIDTH):
        return None
    shown = f"{chr(number)} (U+{number:04X})" if chr(number).isprintable() else f"U+{number:04X}"
    return {"character": shown, "file": where.file, "line": where.line, "column": column}


def _odd_character(message: str, where: Frame) -> tuple[int, int]:
    """Return the number and the column of the character a SyntaxError is about."""
    if match := _CHARACTER.match(message):
        return int(match[1], 16), where.column
    # Python 3.10 blames the number before it.
    behind = re.search(r"[0-9A-Fa-f.]([^\x00-\x7f])", where.text)
    if behind and re.match(r"invalid \w+ literal", message):
        return ord(behind[1]), where.column + 1
    return 0, 0


def variable_service(case: Case) -> Values | None:
    """A variable of a service's environment, read in a job of another, or of a missing channel."""
    name = re.fullmatch(r"'((?:TM|SM|MA|VC)_[A-Z0-9_]+|TF_CONFIG)'", case.failure.message)
    if case.raised != "KeyError" or not name:
        return None
    there = sorted(case.task.command.env) if case.task else []
    like = [word for word in there if word.startswith(name[1][:3])]
    return {"variable": name[1], "there": listed(like) or "-", "dialect": case.job.spec.dialect}


def proxy_pop(case: Case) -> Values | None:
    """The manual's own cure for proxies fails where no proxy is set (pitfall 2-3-1)."""
    name = re.fullmatch(r"'(https?_proxy)'", case.failure.message, re.IGNORECASE)
    if case.raised != "KeyError" or not name:
        return None
    return {"variable": name[1]}
