"""In which order outputs are published, so that a mirror can be restored from at every moment.

TensorFlow writes data first, then what refers to it: ``.index`` and ``.meta`` name the data of a
checkpoint, ``saved_model.pb`` its variables, ``checkpoint`` the newest checkpoint.
"""

import posixpath
import re
from collections.abc import Iterable

_REFERS = (".index", ".meta")
# X.index.tempstate123, X_temp_<id>/part-00000-of-00001…, checkpoint.tmp0f3a
_UNFINISHED = re.compile(
    r"\.tempstate\d+$|_temp(_[0-9a-f]+)?/part-\d+-of-\d+|(^|/)checkpoint\.tmp[0-9a-f]+$"
)


def publish_order(paths: Iterable[str]) -> list[str]:
    """Return the paths with everything before what refers to it, else in order of name."""
    return sorted(paths, key=lambda path: (rank(path), path))


def rank(path: str) -> int:
    """0 for ordinary files; a file refers to files of lower rank only."""
    name = posixpath.basename(path)
    if name == "checkpoint":
        return 3
    if name == "saved_model.pb":
        return 2
    return 1 if name.endswith(_REFERS) else 0


def refers(path: str, other: str) -> bool:
    """Tell whether ``path`` may not be published while ``other`` is incomplete."""
    if rank(other) >= rank(path):
        return False
    folder, name = posixpath.split(path)
    other_folder, other_name = posixpath.split(other)
    if name == "saved_model.pb":
        return other.startswith(f"{folder}/" if folder else "")
    if folder != other_folder:
        return False
    if name == "checkpoint":
        return rank(other) == 1 or ".data-" in other_name
    return other_name.startswith(posixpath.splitext(name)[0] + ".")


def unfinished(path: str) -> bool:
    """Tell whether TensorFlow will rename this file in a moment."""
    return _UNFINISHED.search(path) is not None
