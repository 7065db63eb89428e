"""The token of this machine's server, in a file for its user alone."""

import contextlib
import os
import secrets
from pathlib import Path


def keep_token(file: Path, *, rotate: bool) -> tuple[str, bool]:
    """Return the token in ``file`` and whether it is new: there was none, or ``rotate``."""
    if not rotate:
        with contextlib.suppress(FileNotFoundError):
            kept = file.read_text(encoding="ascii").strip()
            if kept:
                return kept, False
    token = secrets.token_urlsafe(32)
    temporary = file.with_name(".token.tmp")
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "w", encoding="ascii") as out:
        out.write(token + "\n")
    os.replace(temporary, file)
    return token, True
