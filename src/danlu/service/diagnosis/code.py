"""Hints for code that cannot run here: missing modules, Python 2, TensorFlow 1."""

import os
import re
from collections.abc import Iterable

from danlu.errors import NotInMoxing
from danlu.job.package_names import OTHERWISE, SAME
from danlu.job.spec import is_first
from danlu.service.diagnosis.hint_context import HintContext, Values, listed

# Modules for Huawei's Ascend processors. They need software that is not on the package index.
NPU = frozenset(("acl", "hccl", "npu_bridge", "npu_device", "te", "tbe", "torch_npu"))
# Standard library modules that were renamed or removed, and their replacements.
MOVED = {
    "ConfigParser": "configparser",
    "HTMLParser": "html.parser",
    "Queue": "queue",
    "SimpleHTTPServer": "http.server",
    "SocketServer": "socketserver",
    "StringIO": "io",
    "Tkinter": "tkinter",
    "__builtin__": "builtins",
    "cPickle": "pickle",
    "cStringIO": "io",
    "commands": "subprocess",
    "cookielib": "http.cookiejar",
    "copy_reg": "copyreg",
    "distutils": "setuptools",
    "htmlentitydefs": "html.entities",
    "httplib": "http.client",
    "imp": "importlib",
    "md5": "hashlib",
    "sets": "set",
    "sha": "hashlib",
    "thread": "threading",
    "urllib2": "urllib.request",
    "urlparse": "urllib.parse",
}
NAMES = {
    "basestring": "str",
    "cmp": "(a > b) - (a < b)",
    "execfile": "exec(open(path).read())",
    "file": "open",
    "long": "int",
    "raw_input": "input",
    "reduce": "functools.reduce",
    "reload": "importlib.reload",
    "unichr": "chr",
    "unicode": "str",
    "xrange": "range",
}
METHODS = {
    "has_key": "key in d",
    "iteritems": "d.items()",
    "iterkeys": "d.keys()",
    "itervalues": "d.values()",
}
# Names that TensorFlow 1 scripts use most often.
_TF1 = """
AdamOptimizer ConfigProto FileWriter FixedLenFeature GPUOptions GradientDescentOptimizer
GraphKeys InteractiveSession MomentumOptimizer Saver Session Supervisor TFRecordReader app
assign contrib decode_csv decode_raw estimator examples flags get_collection
get_default_graph get_variable gfile global_variables global_variables_initializer layers
local_variables_initializer log logging losses merge_all merge_all_summaries parse_example
parse_single_example placeholder python_io random_normal random_uniform reset_default_graph
scalar_summary set_random_seed sparse_placeholder trainable_variables truncated_normal
variable_scope
"""
TF1 = frozenset(_TF1.split())


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


def _module(case: HintContext) -> str:
    if case.raised not in ("ModuleNotFoundError", "ImportError"):
        return ""
    match = _MISSING.fullmatch(case.failure.message)
    return match["name"] if match else ""


def _is(module: str, packages: Iterable[str]) -> bool:
    return module.split(".")[0] in packages


def module_moxing(case: HintContext) -> Values | None:
    if case.raised == NotInMoxing.__name__:
        name = re.search(r"moxing[\w.]*", case.failure.message)
        return {"module": name[0] if name else "moxing"}
    module = _module(case)
    return {"module": module} if _is(module, ("moxing",)) else None


def module_tensorflow1(case: HintContext) -> Values | None:
    """Match a TensorFlow 1 name in a job that runs TensorFlow 2.

    With TensorFlow 1, the error of a removed name already names its replacement.
    """
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


def module_tensorflow(case: HintContext) -> Values | None:
    module = _module(case)
    return {} if module == "tensorflow" and not case.failure.found else None


def module_case(case: HintContext) -> Values | None:
    """Match a module name with different case: Linux distinguishes ``Utils.py`` and ``utils.py``.

    Windows and macOS do not.
    """
    module, found = _module(case), case.failure.found
    path = module.replace(".", "/")
    if not module or not found or found.removesuffix(".py").endswith(path):
        return None
    return {"module": module, "found": found}


def module_in_code(case: HintContext) -> Values | None:
    module, found = _module(case), case.failure.found
    if not module or not found:
        return None
    here = os.path.dirname(case.failure.where.file) if case.failure.where else ""
    top = found.removesuffix(".py")[: -len(module)].rstrip("/")
    folder = os.path.relpath(top or ".", here or ".")
    return {"module": module, "found": found, "folder": repr(folder)}


def module_python2(case: HintContext) -> Values | None:
    module = _module(case)
    instead = MOVED.get(module.split(".")[0])
    return {"module": module, "instead": instead} if instead else None


def module_npu(case: HintContext) -> Values | None:
    """Match a script written for Huawei's Ascend processors, which ModelArts offers too."""
    module = _module(case)
    return {"module": module} if _is(module, NPU) else None


def module_package(case: HintContext) -> Values | None:
    module = _module(case)
    top = module.split(".")[0]
    if top not in SAME and top not in OTHERWISE:
        return None
    return {"module": module, "package": OTHERWISE.get(top, top), "file": _file(case)}


def module_unknown(case: HintContext) -> Values | None:
    module = _module(case)
    return {"module": module, "file": _file(case)} if module else None


def _file(case: HintContext) -> str:
    return _REQUIREMENTS.get(case.job.spec.dialect, "requirements.txt")


def python2_syntax(case: HintContext) -> Values | None:
    where = case.failure.where
    if case.raised != "SyntaxError" or where is None:
        return None
    for message, text, instead in _SYNTAX:
        if message.match(case.failure.message) and re.search(text, where.text):
            return {"file": where.file, "line": where.line, "instead": instead}
    return None


def keyword_near(case: HintContext) -> Values | None:
    """Match a keyword with swapped letters; the runtime has tested which keyword fixes the line."""
    where = case.failure.where
    meant = re.search(r"Did you mean '(\w+)'\?$", case.failure.message.partition(" (")[0])
    if case.raised != "SyntaxError" or where is None or not meant:
        return None
    return {"file": where.file, "line": where.line, "keyword": meant[1]}


def python2_tabs(case: HintContext) -> Values | None:
    where = case.failure.where
    if case.raised != "TabError" or where is None:
        return None
    return {"file": where.file, "line": where.line}


def python2_name(case: HintContext) -> Values | None:
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


def full_width(case: HintContext) -> Values | None:
    """Match punctuation typed on a Chinese keyboard or copied from a web page."""
    where = case.failure.where
    if case.raised != "SyntaxError" or where is None:
        return None
    match = _CHARACTER.match(case.failure.message)
    if match is None:
        return None
    number = int(match[1], 16)
    if not any(first <= number <= last for first, last in _FULL_WIDTH):
        return None
    shown = f"{chr(number)} (U+{number:04X})" if chr(number).isprintable() else f"U+{number:04X}"
    return {"character": shown, "file": where.file, "line": where.line, "column": where.column}


def variable_service(case: HintContext) -> Values | None:
    """Match a missing variable of another service, or of a channel that the job does not have."""
    name = re.fullmatch(r"'((?:TM|SM|MA|VC)_[A-Z0-9_]+|TF_CONFIG)'", case.failure.message)
    if case.raised != "KeyError" or not name:
        return None
    there = sorted(case.task.command.env) if case.task else []
    like = [word for word in there if word.startswith(name[1][:3])]
    return {"variable": name[1], "there": listed(like) or "-", "dialect": case.job.spec.dialect}


def proxy_pop(case: HintContext) -> Values | None:
    """Match the manual's fix for proxies, which fails if no proxy is set (pitfall 2-3-1)."""
    name = re.fullmatch(r"'(https?_proxy)'", case.failure.message, re.IGNORECASE)
    if case.raised != "KeyError" or not name:
        return None
    return {"variable": name[1]}
