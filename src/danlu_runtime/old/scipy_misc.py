"""``scipy.misc`` of SciPy 1.1: images by Pillow, the rest from its current modules."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageFilter
from scipy.special import comb, factorial, factorial2, factorialk, logsumexp

__all__ = [
    "ascent", "bytescale", "central_diff_weights", "comb", "derivative", "face", "factorial",
    "factorial2", "factorialk", "fromimage", "imfilter", "imread", "imresize", "imrotate",
    "imsave", "imshow", "logsumexp", "toimage",
]  # fmt: skip

_RESAMPLING = {
    "nearest": Image.Resampling.NEAREST,
    "lanczos": Image.Resampling.LANCZOS,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "cubic": Image.Resampling.BICUBIC,
}
_FILTERS = ("blur", "contour", "detail", "edge_enhance", "edge_enhance_more", "emboss",
            "find_edges", "smooth", "smooth_more", "sharpen")  # fmt: skip


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> Any:
    with Image.open(name) as image:
        return fromimage(image, flatten=flatten, mode=mode)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    image = toimage(arr, channel_axis=2)
    image.save(name) if format is None else image.save(name, format)


def fromimage(im: Image.Image, flatten: bool = False, mode: str | None = None) -> Any:
    """Return the pixels; with ``flatten`` as one grey layer of floats."""
    if not isinstance(im, Image.Image):
        raise TypeError(f"Input is not a PIL image, got {type(im).__name__}.")
    if mode is not None:
        im = im if im.mode == mode else im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def bytescale(
    data: Any, cmin: float | None = None, cmax: float | None = None, high: int = 255, low: int = 0
) -> Any:
    """Return the data scaled to bytes from ``low`` to ``high``; bytes are returned unchanged."""
    if data.dtype == np.uint8:
        return data
    if high > 255 or low < 0 or high < low:
        raise ValueError(f"`low` and `high` must rise within 0 and 255, got {low} and {high}.")
    first = data.min() if cmin is None else cmin
    last = data.max() if cmax is None else cmax
    if last < first:
        raise ValueError(f"`cmax` should be larger than `cmin`, got {last} and {first}.")
    scale = float(high - low) / ((last - first) or 1)
    return (((data - first) * scale + low).clip(low, high) + 0.5).astype(np.uint8)


def toimage(
    arr: Any,
    high: int = 255,
    low: int = 0,
    cmin: float | None = None,
    cmax: float | None = None,
    pal: Any = None,
    mode: str | None = None,
    channel_axis: int | None = None,
) -> Image.Image:
    """Return an image of the array; its values are scaled to bytes from smallest to largest."""
    data = np.asarray(arr)
    if np.iscomplexobj(data):
        raise ValueError("Cannot convert a complex-valued array.")
    if data.ndim == 2:
        return _flat_image(data, high, low, cmin, cmax, pal, mode)
    if data.ndim != 3 or not {3, 4} & set(data.shape):
        raise ValueError(
            f"'arr' does not have a suitable array shape for any mode, got {data.shape}."
        )
    axis = _channel_axis(data.shape) if channel_axis is None else channel_axis
    channels = data.shape[axis]
    if channels not in (3, 4):
        raise ValueError(f"Channel axis dimension is not valid, got {channels}.")
    scaled = np.moveaxis(bytescale(data, high=high, low=low, cmin=cmin, cmax=cmax), axis, 2)
    mode = mode or ("RGB" if channels == 3 else "RGBA")
    if mode not in ("RGB", "RGBA", "YCbCr", "CMYK"):
        raise ValueError(f"Invalid mode {mode!r} for an array of {channels} channels.")
    size = (scaled.shape[1], scaled.shape[0])
    return Image.frombytes(mode, size, np.ascontiguousarray(scaled).tobytes())


def _channel_axis(shape: Sequence[int]) -> int:
    return list(shape).index(3 if 3 in shape else 4)


def _flat_image(
    data: Any, high: int, low: int, cmin: Any, cmax: Any, pal: Any, mode: str | None
) -> Image.Image:
    size = (data.shape[1], data.shape[0])
    if mode == "F":
        return Image.frombytes("F", size, data.astype(np.float32).tobytes())
    if mode in (None, "L", "P"):
        scaled = bytescale(data, high=high, low=low, cmin=cmin, cmax=cmax)
        image = Image.frombytes("L", size, np.ascontiguousarray(scaled).tobytes())
        if pal is not None:
            image.putpalette(np.asarray(pal, dtype=np.uint8).tobytes())
        elif mode == "P":
            image.putpalette(np.repeat(np.arange(256, dtype=np.uint8), 3).tobytes())
        return image
    if mode == "1":
        return Image.fromarray(((data > high) * 255).astype(np.uint8)).convert("1")
    if mode == "I":
        first = data.min() if cmin is None else cmin
        last = data.max() if cmax is None else cmax
        spread = (data * 1.0 - first) * (high - low) / (last - first) + low
        return Image.frombytes("I", size, spread.astype(np.uint32).tobytes())
    raise ValueError(f"The mode of a two-dimensional array is L, P, 1, I or F, got {mode!r}.")


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> Any:
    """Resize to a percentage (int), a fraction (float) or (rows, columns)."""
    image = toimage(arr, mode=mode)
    if isinstance(size, int | np.integer):
        width, height = (int(side * (size / 100.0)) for side in image.size)
    elif isinstance(size, float | np.floating):
        width, height = (int(side * size) for side in image.size)
    else:
        width, height = int(size[1]), int(size[0])
    return fromimage(image.resize((width, height), resample=_RESAMPLING[interp]))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> Any:
    return fromimage(toimage(np.asarray(arr)).rotate(angle, resample=_RESAMPLING[interp]))


def imfilter(arr: Any, ftype: str) -> Any:
    if ftype not in _FILTERS:
        raise ValueError(f"Unknown filter {ftype!r}; known are {', '.join(_FILTERS)}.")
    return fromimage(toimage(np.asarray(arr)).filter(getattr(ImageFilter, ftype.upper())))


def imshow(arr: Any) -> None:
    from danlu.errors import Unsupported

    raise Unsupported.from_key("old.scipy_imshow")


def face(gray: bool = False) -> Any:
    return _picture("face", gray=gray)


def ascent() -> Any:
    return _picture("ascent")


def _picture(name: str, **options: Any) -> Any:
    from danlu.errors import Unsupported

    try:
        from scipy import datasets

        return getattr(datasets, name)(**options)
    except (ImportError, OSError) as error:
        raise Unsupported.from_key("old.scipy_datasets", name=name, error=error) from error


def central_diff_weights(Np: int, ndiv: int = 1) -> Any:
    """Return the weights of a central difference of an odd number of points."""
    if Np < ndiv + 1 or Np % 2 == 0:
        raise ValueError(f"The number of points must be odd and above {ndiv}, got {Np}.")
    half = Np >> 1
    powers = np.vander(np.arange(-half, half + 1.0), increasing=True)
    return factorial(ndiv) * np.linalg.inv(powers)[ndiv]


def derivative(
    func: Callable[..., Any], x0: Any, dx: float = 1.0, n: int = 1, args: Any = (), order: int = 3
) -> Any:
    """Return the n-th derivative at a point by central differences."""
    weights = central_diff_weights(order, n)
    half = order >> 1
    terms = (weight * func(x0 + (k - half) * dx, *args) for k, weight in enumerate(weights))
    return sum(terms) / dx**n


def restore(module: Any) -> None:
    """Add the functions to the current, empty ``scipy.misc``."""
    from danlu_runtime.old.names import put_back

    def maker(name: str) -> Callable[[], Any]:
        return lambda: globals()[name]

    put_back(module, {name: maker(name) for name in __all__})
