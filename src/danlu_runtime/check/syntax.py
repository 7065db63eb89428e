"""Finds the syntax error that a file keeps after every source repair.

``python -m danlu_runtime.check.syntax FILE...`` prints a JSON list: for each file its error as an
object, or ``null``.
"""

import json
import sys
from pathlib import Path
from typing import Any

from danlu_runtime.repair.rewrite import repair_source


def find_error(path: Path) -> dict[str, Any] | None:
    """Return line, message and text of the error, None for a valid or repairable file."""
    try:
        repair_source(path.read_bytes(), str(path))
    except SyntaxError as error:
        text = (error.text or "").strip()
        return {"line": error.lineno or 0, "message": error.msg, "text": text}
    return None


if __name__ == "__main__":
    print(json.dumps([find_error(Path(name)) for name in sys.argv[1:]]))
