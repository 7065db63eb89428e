"""Whether a loop of the script expects the end of its data."""

import ast
import linecache
import sys
from functools import lru_cache
from types import FrameType

_FRAMES = 50
_END = "OutOfRangeError"


def expects_end_of_data() -> bool:
    """Tell whether a caller catches ``OutOfRangeError`` around the line it is in."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_FRAMES):
        if frame is None:
            return False
        name = frame.f_code.co_filename
        if _END in frame.f_code.co_names and _catches(name, frame.f_lineno):
            return True
        frame = frame.f_back
    return False


@lru_cache(maxsize=256)
def _catches(file: str, line: int) -> bool:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return False
    return any(
        isinstance(node, ast.Try)
        and node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)
        and any(_END in ast.dump(each.type) for each in node.handlers if each.type is not None)
        for node in ast.walk(tree)
    )
