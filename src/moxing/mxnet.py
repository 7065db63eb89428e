"""MoXing for MXNet: only ``mox.file``; every other name raises ``Unsupported``."""

from typing import Any

from moxing import only


def __getattr__(name: str) -> Any:
    if name == "file":
        from moxing.framework import file

        return file
    return only("moxing.mxnet", name, ())
