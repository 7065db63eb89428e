"""Texts for users are in the catalogue: none is written in the sources."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import danlu

SRC = Path(danlu.__file__).parents[1]
PACKAGES = ("danlu", "danlu_runtime", "moxing", "ti")
MESSAGES = {"get_message", "get_message_in", "from_key"}
# Calls that show a text to a person, beside the constructors of errors.
SHOWING = {
    "echo",
    "secho",
    "print",
    "print_message",
    "note",
    "line",
    "mapped",
    "fault",
    "confirm",
    "_print",
}
LOGGING = {"debug", "info", "warning", "error", "exception", "critical"}
# Raised for a fault of Danlu, or with the text of a library that Danlu stands for.
PYTHONS = {
    *("AssertionError", "AttributeError", "ImportError", "IndexError", "KeyError", "OSError"),
    *("NotImplementedError", "RuntimeError", "TypeError", "UnsupportedOperation", "ValueError"),
}
WORDS = re.compile(r"[A-Za-z]{2,}[,:;]? [A-Za-z]")  # a text has at least two words
SENTENCE = re.compile(r"[A-Za-z][a-z']*[,:;]? [a-z']+[,:;]? [a-z']+")  # three words in a row

# Calls with a text of their own, and the reason.
SHOWN = {
    "danlu/agent/__main__.py": "usage of a program that only Danlu starts",
    "danlu/agent/packages/installer.py": "output of uv, for the log of the agent",
    "danlu/agent/remote.py": "usage of a program that only Danlu starts",
    "danlu/cli/demo": "scripts of users, which print in English as those of the documents do",
    "danlu/sandbox/probe.py": "usage of a program that only Danlu starts",
    "danlu_runtime/check/__main__.py": "one finding per line; its texts are messages",
    "danlu_runtime/tf1/examples/tutorials/mnist/input_data.py": "TensorFlow prints this line",
    "danlu_runtime/warm/waiting.py": "log of the warm process, for operators",
    "moxing/tensorflow/executor/request.py": "mox.run raises Python's errors in English, as MoXing",
    "moxing/tensorflow/executor/restoring.py": "a record of tf.logging, in English as MoXing's",
}
# Further sentences in danlu and ti that are not for users, and the reason.
SENTENCES = {
    "danlu/agent/packages/install.py": "a program, given to Python",
    "danlu/agent/packages/uv.py": "patterns of the errors of uv",
    "danlu/agent/script/sandbox_launcher.py": "a program, given to Python",
    "danlu/cli/commands/check.py": "a program, given to Python",
    "danlu/cli/commands/demo.py": "a pattern of metrics in logs",
    "danlu/cli/commands/machine.py": "lines for the shell",
    "danlu/cli/demo": "scripts of users",
    "danlu/cli/verify": "programs, given to Python",
    "danlu/dialects/dls.py": "a program, given to Python",
    "danlu/executors/agents.py": "a reason in the log of the server",
    "danlu/job/package_names.py": "names of packages",
    "danlu/job/presets.py": "help of the flags of MoXing programs, English as in MoXing",
    "danlu/records": "SQL, and patterns of the errors of databases",
    "danlu/sandbox/kernel.py": "errors of the kernel, for the log of the agent",
    "danlu/server/__main__.py": "usage of a program that only Danlu starts",
    "danlu/server/process.py": "a reason in the log of the server",
    "danlu/server/schemas.py": "descriptions in the OpenAPI document",
    "danlu/service/diagnosis": "patterns of errors, code and commands",
    "danlu/service/jobs/syntax.py": "a program, given to Python",
    "danlu/storage/paths_file.py": "errors with the texts of the module io",
    "danlu/storage/transfer/outputs.py": "a record of the module logging",
    "danlu/storage/s3": "codes of answers that could not be read, and patterns",
    "danlu/usercode": "names of TensorFlow, and patterns of code",
    "ti/describing.py": "states with the texts of the TI SDK",
    "ti/exceptions.py": "a text of the TI SDK",
    "ti/session.py": "a program, given to Python",
    "ti/tensorflow/board.py": "a program, given to Python",
}


def sources(package: str) -> list[Path]:
    return sorted((SRC / package).rglob("*.py"))


def relative(path: Path) -> str:
    return path.relative_to(SRC).as_posix()


def is_excepted(path: Path, table: dict[str, str]) -> bool:
    name = relative(path)
    return any(name == part or name.startswith(f"{part}/") for part in table)


@functools.cache
def error_names() -> set[str]:
    """Return the names of all classes below DanluError."""
    bases: dict[str, set[str]] = {}
    for package in PACKAGES:
        for path in sources(package):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    names = {name_of(base) for base in node.bases}
                    bases.setdefault(node.name, set()).update(names)
    found = {"DanluError"}
    while True:
        more = {name for name, above in bases.items() if above & found} - found
        if not more:
            return found
        found |= more


def name_of(node: ast.AST) -> str:
    return getattr(node, "id", getattr(node, "attr", ""))


def texts_in(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of literals below ``node``, without those given to the catalogue."""
    if isinstance(node, ast.Call) and name_of(node.func) in MESSAGES:
        return
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        yield node.lineno, "".join(map(str, parts))
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield from texts_in(part.value)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    for child in ast.iter_child_nodes(node):
        yield from texts_in(child)


def shown_literals(package: str) -> list[str]:
    """Return the literals in calls that show a text, and those with the mark of Danlu's lines."""
    calls = error_names() | SHOWING
    found = set()
    for path in sources(package):
        if is_excepted(path, SHOWN):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name_of(node.func) in calls:
                values = [*node.args, *(each.value for each in node.keywords)]
                literals = [item for value in values for item in texts_in(value)]
                found |= {(relative(path), *item) for item in literals if WORDS.search(item[1])}
    return [f"{file}:{line}: {text}" for file, line, text in sorted(found)]


def sentences(package: str) -> list[str]:
    """Return literals of three words or more, without docstrings, log records and patterns."""
    found = []
    for path in sources(package):
        if is_excepted(path, SENTENCES) or is_excepted(path, SHOWN):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        passed: set[int] = set()
        for node in ast.walk(tree):
            called = name_of(node.func) if isinstance(node, ast.Call) else ""
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if is_text or called in LOGGING | PYTHONS | {"compile", "add_argument"}:
                passed |= {id(each) for each in ast.walk(node)}
        for node in ast.iter_child_nodes(tree):
            found += [
                f"{relative(path)}:{line}: {text}"
                for line, text in _unpassed(node, passed)
                if SENTENCE.search(text)
            ]
    return found


def _unpassed(node: ast.AST, passed: set[int]) -> Iterator[tuple[int, str]]:
    if id(node) in passed:
        return
    if isinstance(node, ast.Call) and name_of(node.func) in MESSAGES:
        return
    if isinstance(node, ast.Constant | ast.JoinedStr):
        yield from texts_in(node)
        return
    for child in ast.iter_child_nodes(node):
        yield from _unpassed(child, passed)


@pytest.mark.parametrize("package", PACKAGES)
def test_shown_texts_are_in_the_catalogue(package):
    assert shown_literals(package) == []


# The other packages raise the errors of TensorFlow, Keras and MoXing with the texts of these.
@pytest.mark.parametrize("package", ["danlu", "ti"])
def test_sentences_are_in_the_catalogue(package):
    assert sentences(package) == []


@pytest.mark.parametrize("path", sorted({*SHOWN, *SENTENCES}))
def test_excepted_source_exists(path):
    assert (SRC / path).exists()
