"""Constants of OpenCV 2.4 and their current names."""

from __future__ import annotations

from typing import Any

from danlu_runtime.old import cv2_coordinates
from danlu_runtime.old.names import put_back

_RENAMED = {
    "CV_AA": "LINE_AA", "CV_FOURCC": "VideoWriter_fourcc", "CV_FILLED": "FILLED",
    "CV_LOAD_IMAGE_COLOR": "IMREAD_COLOR", "CV_LOAD_IMAGE_GRAYSCALE": "IMREAD_GRAYSCALE",
    "CV_LOAD_IMAGE_UNCHANGED": "IMREAD_UNCHANGED", "CV_INTER_LINEAR": "INTER_LINEAR",
    "CV_INTER_CUBIC": "INTER_CUBIC", "CV_INTER_NN": "INTER_NEAREST",
    "CV_BGR2GRAY": "COLOR_BGR2GRAY", "CV_BGR2RGB": "COLOR_BGR2RGB", "CV_RGB2BGR": "COLOR_RGB2BGR",
    "CV_RGB2GRAY": "COLOR_RGB2GRAY", "CV_BGR2HSV": "COLOR_BGR2HSV",
    "CV_CAP_PROP_FPS": "CAP_PROP_FPS", "CV_CAP_PROP_FRAME_COUNT": "CAP_PROP_FRAME_COUNT",
    "CV_CAP_PROP_FRAME_WIDTH": "CAP_PROP_FRAME_WIDTH",
    "CV_CAP_PROP_FRAME_HEIGHT": "CAP_PROP_FRAME_HEIGHT",
    "CV_CAP_PROP_POS_FRAMES": "CAP_PROP_POS_FRAMES",
}  # fmt: skip


def restore(cv2: Any) -> None:
    names = {old: _maker(cv2, new) for old, new in _RENAMED.items()}
    put_back(cv2, {**names, "cv": lambda: _Cv(cv2)})
    cv2_coordinates.accept(cv2)


def _maker(cv2: Any, name: str) -> Any:
    return lambda: getattr(cv2, name)


class _Cv:
    """``cv2.cv``: the constants, with and without their prefix."""

    def __init__(self, cv2: Any) -> None:
        self._cv2 = cv2

    def __getattr__(self, name: str) -> Any:
        for wanted in (_RENAMED.get(name, ""), name.removeprefix("CV_")):
            if wanted and hasattr(self._cv2, wanted):
                return getattr(self._cv2, wanted)
        raise AttributeError(f"cv2.cv.{name} is not in the OpenCV of today.")
