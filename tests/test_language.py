"""Counts words that the conventions forbid, class names with two meanings, and long test names.

``python tests/test_language.py [FOLDER]`` prints the counts of a checkout.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Words of software that is described as a person, pronouns without a noun, and metaphors that
# stood for an established term.
WORDS = {
    "telling": "tell tells told telling untold say says said saying hear hears heard hearing",
    "persons": "whoever whomever nobody somebody anybody everybody",
    "metaphors": "nursery born outfit worn tenure forsaken forsake pour poured pouring shelf wish "
    "wishes wished farewell keeper glance carrier carriers whereabouts rubbish stillness verdict "
    "verdicts mend mended mending patience stranger strangers house houses room rooms",
}
_PATTERNS = {
    kind: re.compile(rf"(?<![A-Za-z])(?:{'|'.join(words.split())})(?![A-Za-z])", re.IGNORECASE)
    for kind, words in WORDS.items()
}
# "the user who" names its noun; these do not.
_BARE = re.compile(
    r"(?:^|[.:;,(] |\b(?:and|or|of|to|for|by|from|with|than|is|are) )(?:who|whom)\b", re.IGNORECASE
)
_CODE = re.compile(r"``[^`]*``")  # names in docstrings; they are counted where they are defined
AREAS = (
    *("src/danlu", "src/ti", "src/danlu_runtime", "src/moxing", "tests", "bench"),
    *("docs", "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile"),
)
# What the words mean in these files is not the writer's choice.
ALLOWED = {
    "tests/test_language.py": "the list of the words",
    "src/danlu/messages": "texts for users; tests/messages checks them",
    "src/danlu_runtime/tf1/contrib": "the names and texts of TensorFlow 1.15",
}
ALLOWED_NAMES = {
    "tell": "the method of Python's file objects",
    "patience": "an argument of Keras and of MoXing's early stopping",
    "NOBODY_UID": "the Unix user nobody",
    "test_constant_metric_ends_training_after_patience": "the argument of MoXing's hook",
    "PreviousKeeper": "keeps previous objects",
    "keeper": "a PreviousKeeper, and the field of the warm protocol",
    "keepers": "several of them",
}
MAX_WORDS = 8  # of a test name, without "test"
SAME_CLASS = {"Session": "ti.session.Session is a name of the TI manual"}


def files(area: str, root: Path = ROOT) -> Iterator[Path]:
    place = root / area
    found = [place] if place.is_file() else sorted(place.rglob("*"))
    for path in found:
        name = path.relative_to(root).as_posix()
        if path.suffix not in (".py", ".md", "") or not path.is_file() or ".zh-CN" in name:
            continue
        if not any(name.startswith(allowed) for allowed in ALLOWED) and "__pycache__" not in name:
            yield path


def _python(text: str) -> Iterator[tuple[int, str]]:
    """Yield names, comments and docstrings of a module; other strings are data or messages."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a program in Python 2
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node) or ""
            yield getattr(node, "lineno", 1), _CODE.sub("", docstring)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], _CODE.sub("", token.string)
        elif token.type == tokenize.NAME and token.string not in ALLOWED_NAMES:
            yield token.start[0], token.string.replace("_", " ")


def _text(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page without code."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        code ^= line.startswith("```")
        if not code:
            yield number, re.sub(r"`[^`]*`", "", line)


def count(area: str, root: Path = ROOT) -> tuple[Counter[str], list[str]]:
    """Return the number of forbidden words by kind, and where they are."""
    found: Counter[str] = Counter()
    places = []
    for path in files(area, root):
        text = path.read_text(encoding="utf-8")
        for line, part in (_python if path.suffix == ".py" else _text)(text):
            for kind, pattern in (*_PATTERNS.items(), ("persons", _BARE)):
                if hits := pattern.findall(part):
                    found[kind] += len(hits)
                    places.append(f"{path.relative_to(root)}:{line}: {kind}: {part[:80]!r}")
    return found, places


def _classes(root: Path) -> dict[str, list[str]]:
    found = defaultdict(list)
    for package in ("src/danlu", "src/ti"):
        for path in sorted((root / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    found[node.name.lstrip("_")].append(f"{path.relative_to(root)}:{node.lineno}")
    return {name: places for name, places in found.items() if len(places) > 1}


def _test_names(root: Path) -> Iterator[tuple[str, int]]:
    for path in sorted((root / "tests").rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{path.name}::{node.name}", node.name.count("_")


@pytest.mark.parametrize("area", AREAS)
def test_forbidden_words_are_not_used(area):
    found, places = count(area)

    assert not found, "\n".join([str(found), *places[:200]])


def test_class_name_has_one_meaning():
    assert {name: at for name, at in _classes(ROOT).items() if name not in SAME_CLASS} == {}


def test_test_names_are_short():
    words = dict(_test_names(ROOT))

    assert [name for name, number in words.items() if number > MAX_WORDS] == []


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT).resolve()
    for area in AREAS:
        print(area, dict(sorted(count(area, root)[0].items())))
    print("class names with two meanings", len(_classes(root)))
    numbers = [number for _, number in _test_names(root)]
    print("test names", len(numbers), "over 8 words", sum(number > MAX_WORDS for number in numbers))


if __name__ == "__main__":
    main()
