"""Names and behaviour that numpy had before 1.20 and removed by 2.4.

Until 1.16.3 ``np.load`` read pickled objects by default, and scripts of that time depend on it. The
user's own files get this behaviour, because a script that names the data can run code anyway. Every
such read is noted.
"""

from __future__ import annotations

import ast
import functools
from typing import Any

from danlu.messages import get_message
from danlu_runtime.old import numpy_arguments
from danlu_runtime.old.names import called_by_own_code, mapped, put_back, read_as

_BUILTIN = {"float": float, "int": int, "object": object, "str": str, "complex": complex,
            "unicode": str}  # fmt: skip
_RENAMED = {
    "float_": "float64", "complex_": "complex128", "string_": "bytes_", "unicode_": "str_",
    "Inf": "inf", "Infinity": "inf", "infty": "inf", "PINF": "inf", "NaN": "nan", "NAN": "nan",
    "product": "prod", "cumproduct": "cumprod", "alltrue": "all", "sometrue": "any",
    "trapz": "trapezoid", "row_stack": "vstack", "rank": "ndim", "int0": "intp", "uint0": "uintp",
    "bool8": "bool_", "bool": "bool_", "object0": "object_", "str0": "bytes_",
    "cfloat": "complex128", "singlecomplex": "complex64", "longfloat": "longdouble",
    "longcomplex": "clongdouble", "clongfloat": "clongdouble", "typeDict": "sctypeDict",
    "mat": "asmatrix", "round_": "round",
}  # fmt: skip


def restore(np: Any) -> None:
    put_back(np, {name: functools.partial(_same, kind) for name, kind in _BUILTIN.items()})
    put_back(np, {old: functools.partial(getattr, np, new) for old, new in _RENAMED.items()})
    put_back(np, {name: functools.partial(_same, make) for name, make in _functions(np).items()})
    put_back(np, {"cast": functools.partial(numpy_arguments.Cast, np)})
    numpy_arguments.accept(np)
    _take_newshape(np)
    _take_ragged(np)
    _load_objects(np)


def restore_random(random: Any) -> None:
    def random_integers(low: int, high: int | None = None, size: Any = None) -> Any:
        low, high = (1, low) if high is None else (low, high)
        return random.randint(low, high + 1, size)

    put_back(random, {"random_integers": functools.partial(_same, random_integers)})


def _same(value: Any) -> Any:
    return value


def _functions(np: Any) -> dict[str, Any]:
    def asscalar(a: Any) -> Any:
        return a.item()

    def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
        return np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)

    def msort(a: Any) -> Any:
        return np.sort(a, axis=0)

    def asfarray(a: Any, dtype: Any = np.float64) -> Any:
        kind = dtype if np.issubdtype(dtype, np.inexact) else np.float64
        return np.asarray(a, dtype=kind)

    def find_common_type(array_types: Any, scalar_types: Any) -> Any:
        kinds = [np.dtype(one) for one in array_types]
        scalars = [np.dtype(one) for one in scalar_types]
        if not kinds or not scalars:
            return np.result_type(*(kinds or scalars))
        arrays, alone = np.result_type(*kinds), np.result_type(*scalars)
        return alone if "biufc".index(alone.kind) > "biufc".index(arrays.kind) else arrays

    def alen(a: Any) -> int:
        return len(np.array(a, copy=None, ndmin=1))

    def disp(mesg: Any, device: Any = None, linefeed: bool = True) -> None:
        print(mesg, file=device, end="\n" if linefeed else "")

    def loads(data: bytes) -> Any:
        import pickle

        return pickle.loads(data)

    named = (asscalar, in1d, msort, asfarray, find_common_type, alen, disp, loads)
    numbers = {"NINF": -np.inf, "PZERO": 0.0, "NZERO": -0.0, "safe_eval": ast.literal_eval}
    return {**{function.__name__: function for function in named}, **numbers}


def _take_newshape(np: Any) -> None:
    """Accept ``np.reshape(a, newshape=…)``; the argument is ``shape`` since numpy 2.1."""
    real = np.reshape

    @functools.wraps(real)
    def reshape(*args: Any, **options: Any) -> Any:
        if "newshape" in options:
            mapped(read_as("np.reshape(newshape=…)", "np.reshape(shape=…)"))
            options["shape"] = options.pop("newshape")
        return real(*args, **options)

    np.reshape = reshape


def _take_ragged(np: Any) -> None:
    """Create object arrays from rows of different lengths in the user's files, as before 1.24."""
    for name in ("array", "asarray"):
        setattr(np, name, _ragged(getattr(np, name), name))


def _ragged(real: Any, name: str) -> Any:
    @functools.wraps(real)
    def make(*args: Any, **options: Any) -> Any:
        try:
            return real(*args, **options)
        except ValueError as error:
            has_kind = len(args) > 1 or options.get("dtype") is not None
            if "inhomogeneous" not in str(error) or has_kind or not called_by_own_code():
                raise
            options["dtype"] = object
            try:
                value = real(*args, **options)
            except ValueError:
                raise error from None  # numpy before 1.24 rejected these as well
        mapped(get_message("old.numpy_ragged", name=name))
        return value

    return make


def _load_objects(np: Any) -> None:
    real = np.load

    @functools.wraps(real)
    def load(file: Any, mmap_mode: Any = None, *args: Any, **options: Any) -> Any:
        if args or "allow_pickle" in options or not called_by_own_code():
            return real(file, mmap_mode, *args, **options)
        start = file.tell() if hasattr(file, "seek") else None
        try:
            value = real(file, mmap_mode, **options)
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise
            if start is not None:
                file.seek(start)
            value = real(file, mmap_mode, allow_pickle=True, **_encoding(options))
            mapped(get_message("old.numpy_pickle"))
        else:
            if isinstance(value, np.lib.npyio.NpzFile) and _has_objects(np, value):
                value.allow_pickle = True
                mapped(get_message("old.numpy_pickle"))
        return value

    np.load = load


def _encoding(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with Latin-1 as the default encoding of Python 2 strings."""
    return {"encoding": "latin1", **options}


def _has_objects(np: Any, archive: Any) -> bool:
    for name in archive.zip.namelist():
        with archive.zip.open(name) as member:
            try:
                version = np.lib.format.read_magic(member)
                reader = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
                if reader(member)[2].hasobject:
                    return True
            except (AttributeError, ValueError):
                continue  # not an array
    return False
