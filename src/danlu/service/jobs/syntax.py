"""Detection of syntax errors in the code of a job before the job is queued.

``danlu_runtime`` repairs Python 2, full-width characters and tabs when the script runs. This
package does not import it; it runs the check in a subprocess. The subprocess is started only if
a file does not compile and its error is none of those. Valid code needs none.
"""

import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from danlu.agent.script.environment import STARTUP
from danlu.messages import get_message

_LARGEST = 1 << 20  # bytes; compiling a larger file delays the submit noticeably
_SECONDS = 20.0
_MAX_LINE = 200  # characters of the line in the message
_REPAIRED = re.compile(
    r"Missing parentheses in call to|multiple exception types must be parenthesized"
    r"|leading zeros in decimal|invalid (?:decimal|hexadecimal|octal) literal|invalid digit"
    r"|invalid (?:non-printable )?character|inconsistent use of tabs"
)
# `python -m` would search the current directory first.
_START = (
    "import sys, runpy; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module('danlu_runtime.check.syntax', run_name='__main__', alter_sys=True)"
)


def find_syntax_faults(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return a message for each file with a syntax error that no repair fixes, by its name."""
    suspects = {
        name: data
        for name, data in files.items()
        if len(data) <= _LARGEST and not _may_compile(data, name)
    }
    found = zip(suspects, _ask(suspects) if suspects else [], strict=False)
    return {
        name: get_message(
            "fault.syntax",
            name=name,
            line=error["line"],
            message=error["message"],
            text=_printable(error["text"]),
        )
        for name, error in found
        if error
    }


def _printable(text: str) -> str:
    """Return a line of a script without control characters, at most ``_MAX_LINE`` long."""
    line = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return line if len(line) <= _MAX_LINE else line[: _MAX_LINE - 1] + "…"


def _may_compile(data: bytes, name: str) -> bool:
    """Return False if a script does not compile and no repair for its error is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(data, name, "exec", dont_inherit=True)
        except SyntaxError as error:
            return bool(_REPAIRED.match(error.msg or ""))
        except (ValueError, RecursionError, MemoryError):
            return True  # the job reports it
    return True


def _ask(files: Mapping[str, bytes]) -> list[dict[str, Any] | None]:
    """Return the error of each file, None for a file that a repair fixes."""
    with tempfile.TemporaryDirectory() as folder:
        scripts = []
        for number, (name, data) in enumerate(files.items()):
            script = Path(folder, str(number), PurePosixPath(name).name)
            script.parent.mkdir()
            script.write_bytes(data)
            scripts.append(str(script))
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", _START, str(STARTUP.parents[1]), *scripts],
                capture_output=True,
                text=True,
                timeout=_SECONDS,
            )
            found: list[dict[str, Any] | None] = json.loads(done.stdout)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return []  # the job reports the syntax error
    return found
