"""MoXing for pytorch: ``mox.file``; of the rest every name says that it is not built yet."""

from typing import Any

from moxing import only


def __getattr__(name: str) -> Any:
    if name == "file":
        from moxing.framework import file

        return file
    return only("moxing.pytorch", name, ())
