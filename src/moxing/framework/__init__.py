"""What all engines of MoXing share: files."""

from typing import Any

from moxing import only


def __getattr__(name: str) -> Any:
    return only("moxing.framework", name, ("file", "util"))
