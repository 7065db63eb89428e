"""Finds the version of the package ``keras`` that a script was written for.

A requirement of the code decides. Then a version that the script compares ``keras.__version__``
with, then names that only one side of Keras 2.3 had, then the TensorFlow version.
"""

import os
import re
from functools import cache
from pathlib import Path

from danlu_runtime.keras2 import paths

_LAST = "2.3.1"  # the last Keras that was not part of TensorFlow
# The newest Keras when a TensorFlow version was the newest.
_BY_TENSORFLOW = {
    (1, 1): "2.0.4",
    (1, 2): "2.0.6",
    (1, 3): "2.0.8",
    (1, 4): "2.1.2",
    (1, 5): "2.1.4",
    (1, 6): "2.1.5",
    (1, 7): "2.1.5",
    (1, 8): "2.1.6",
    (1, 9): "2.2.0",
    (1, 10): "2.2.2",
    (1, 11): "2.2.4",
    (1, 12): "2.2.4",
    (1, 13): "2.2.4",
}
_FILES = (
    "*requirements*.txt",
    "requirements/*.txt",
    "setup.py",
    "setup.cfg",
    "environment*.y*ml",
    "Pipfile",
    "pyproject.toml",
)
_REQUIRED = re.compile(
    r"(?im)(?<![\w.-])keras['\"]?\s*(?:=\s*['\"])?(?:==|~=|<=|=)\s*v?(2(?:\.\d+)+)"
)
_COMPARED = re.compile(r"keras\.__version__\s*(?:==|<=)\s*['\"](2(?:\.\d+)+)")
_AT_LEAST = re.compile(r"keras\.__version__\s*>=\s*['\"](2\.[3-9])")
_SINCE_2_3 = re.compile(
    r"keras\.metrics\.(?:AUC|Precision|Recall|Mean)\b|reset_metrics\s*=|learning_rate\s*=\s*[\d.]+e?"
    r"|\.(?:history|logs)\[['\"](?:val_)?accuracy['\"]\]"
)
_BEFORE_2_3 = re.compile(r"\.(?:history|logs)\[['\"](?:val_)?acc['\"]\]|_get_available_gpus")
_STANDALONE = re.compile(r"(?m)^\s*(?:import|from)\s+keras\b")
_LARGEST = 1_000_000  # bytes of a file that is read
_MOST = 200  # files


@cache
def version() -> str:
    """Return the version of Keras that this process shows, such as 2.3.1."""
    folder = os.environ.get("DANLU_CODE", "")
    found = of_code(Path(folder)) if folder and os.path.isdir(folder) else ""
    return found or _BY_TENSORFLOW.get(paths.tensorflow(), _LAST)


@cache
def numbers() -> tuple[int, ...]:
    return tuple(int(part) for part in version().split(".")[:3] if part.isdigit())


def is_before_2_3() -> bool:
    return numbers() < (2, 3)


def of_code(folder: Path) -> str:
    """Return the version that the files of a folder indicate, "" if they do not."""
    for pattern in _FILES:
        for path in sorted(folder.glob(pattern)):
            found = _REQUIRED.search(_text(path))
            if found:
                return _full(found[1])
    scripts = [_text(path) for path in sorted(folder.rglob("*.py"))[:_MOST]]
    texts = [text for text in scripts if _STANDALONE.search(text)]
    for text in texts:
        found = _COMPARED.search(text)
        if found:
            return _full(found[1])
    if any(_AT_LEAST.search(text) or _SINCE_2_3.search(text) for text in texts):
        return _LAST
    return "2.2.4" if any(_BEFORE_2_3.search(text) for text in texts) else ""


def _full(version: str) -> str:
    """Return a version with three numbers that existed: ``2.2`` is 2.2.0, 2.4 is 2.3.1."""
    parts = [int(part) for part in version.split(".")]
    if parts[:2] > [2, 3]:
        return _LAST
    return ".".join(map(str, (*parts, 0)[:3] if len(parts) < 3 else parts[:3]))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
