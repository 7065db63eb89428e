"""Constants and methods removed in Pillow 10: ``Image.ANTIALIAS``, ``draw.textsize``."""

from __future__ import annotations

from typing import Any

from danlu_runtime.old.names import mapped, put_back, read_as

_FILTERS = {"ANTIALIAS": "LANCZOS", "LINEAR": "BILINEAR", "CUBIC": "BICUBIC"}


def restore_image(module: Any) -> None:
    put_back(module, {old: _resampling(module, new) for old, new in _FILTERS.items()})
    put_back(module, {"fromstring": lambda: module.frombytes})
    image = module.Image
    if not hasattr(image, "tostring"):
        image.tostring = lambda self, *args: self.tobytes(*args)


def _resampling(module: Any, name: str) -> Any:
    return lambda: getattr(module.Resampling, name)


def restore_draw(module: Any) -> None:
    if hasattr(module.ImageDraw, "textsize"):
        return

    def textsize(self: Any, text: str, font: Any = None, **options: Any) -> tuple[int, int]:
        mapped(read_as("ImageDraw.textsize", "textbbox"))
        left, top, right, bottom = self.textbbox((0, 0), text, font=font, **options)
        return int(right - left), int(bottom - top)

    module.ImageDraw.textsize = textsize


def restore_font(module: Any) -> None:
    def getsize(self: Any, text: str, *args: Any, **options: Any) -> tuple[int, int]:
        mapped(read_as("ImageFont.getsize", "getbbox"))
        *_, right, bottom = self.getbbox(text, *args, **options)
        return int(right), int(bottom)

    for kind in (module.ImageFont, module.FreeTypeFont):
        if not hasattr(kind, "getsize"):
            kind.getsize = getsize
