"""What all engines of MoXing share.

``file``: files of this machine and of object stores. ``util``: small functions scripts import.
"""

from typing import Any

from moxing import only


def __getattr__(name: str) -> Any:
    return only("moxing.framework", name, ("file", "util"))
