"""Names of pandas before 1.0 and 2.0: ``DataFrame.append``, ``.ix``, ``as_matrix`` and others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from danlu.messages import get_message
from danlu_runtime.old.names import mapped, put_back, read_as, refusing

_PANEL = "pandas.panel"


def restore(pd: Any) -> None:
    _methods(pd)
    _add_from_csv(pd)
    put_back(
        pd,
        {
            "Panel": refusing("Panel", _PANEL),
            "np": lambda: __import__("numpy"),
            "datetime": lambda: __import__("datetime").datetime,
            "Int64Index": lambda: pd.Index,
            "Float64Index": lambda: pd.Index,
            "rolling_mean": lambda: _rolling("mean"),
            "rolling_std": lambda: _rolling("std"),
            "rolling_sum": lambda: _rolling("sum"),
        },
    )
    for name in ("read_csv", "read_table"):
        setattr(pd, name, _reader(getattr(pd, name), name))


def _rolling(kind: str) -> Callable[..., Any]:
    def rolling(arg: Any, window: int, min_periods: int | None = None, **options: Any) -> Any:
        return getattr(arg.rolling(window, min_periods=min_periods, **options), kind)()

    return rolling


def _methods(pd: Any) -> None:
    frame, series = pd.DataFrame, pd.Series
    for kind in (frame, series):
        _add(kind, "append", functools.partial(_append, pd), "pd.concat")
        _add(kind, "as_matrix", _as_matrix, "to_numpy")
        _add(kind, "iteritems", lambda self: self.items(), "items")
        _add_ix(kind)
    _add(frame, "get_value", lambda self, index, col: self.at[index, col], "at")
    _add(frame, "set_value", _set_value, "at")
    _add(frame, "applymap", lambda self, func, **options: self.map(func, **options), "map")
    _add(frame, "sort", _sort, "sort_values")
    _add(series, "order", lambda self, **options: self.sort_values(**options), "sort_values")


def _add_from_csv(pd: Any) -> None:
    """Add ``from_csv``, removed in pandas 1.0.

    The first column is the index, with dates if possible.
    """
    from_csv = functools.partial(_from_csv, pd)
    if not hasattr(pd.DataFrame, "from_csv"):
        pd.DataFrame.from_csv = staticmethod(functools.partial(from_csv, "DataFrame"))
    if not hasattr(pd.Series, "from_csv"):
        pd.Series.from_csv = staticmethod(functools.partial(from_csv, "Series", header=None))


def _from_csv(
    pd: Any,
    kind: str,
    path: Any,
    header: Any = 0,
    sep: str = ",",
    index_col: Any = 0,
    parse_dates: bool = True,
    encoding: str | None = None,
) -> Any:
    mapped(read_as(f"pandas {kind}.from_csv", "pd.read_csv"))
    chosen = {"sep": sep, "parse_dates": parse_dates, "header": header, "index_col": index_col}
    table = pd.read_csv(path, encoding=encoding, **chosen)
    return table.iloc[:, 0] if kind == "Series" else table


def _add(kind: Any, name: str, function: Callable[..., Any], now: str) -> None:
    if hasattr(kind, name):
        return

    def method(self: Any, *args: Any, **options: Any) -> Any:
        mapped(read_as(f"pandas {kind.__name__}.{name}", f"{now}"))
        return function(self, *args, **options)

    method.__name__ = name
    setattr(kind, name, method)


def _append(
    pd: Any,
    self: Any,
    other: Any,
    ignore_index: bool = False,
    verify_integrity: bool = False,
    sort: bool = False,
) -> Any:
    """Return both tables, one below the other; a Series or dict is a row of a frame."""
    if isinstance(self, pd.DataFrame):
        if isinstance(other, dict):
            if not ignore_index:
                raise TypeError("Can only append a dict if ignore_index=True.")
            other = pd.Series(other)
        if isinstance(other, pd.Series):
            if other.name is None and not ignore_index:
                raise TypeError(
                    "Can only append a Series if ignore_index=True or if the Series has a name."
                )
            other = other.to_frame().T.infer_objects()
        elif isinstance(other, list) and other and not isinstance(other[0], pd.DataFrame):
            other = pd.DataFrame(other)
    parts = [self, *other] if isinstance(other, list | tuple) else [self, other]
    options = {"ignore_index": ignore_index, "verify_integrity": verify_integrity}
    return pd.concat(parts, sort=sort, **options)


def _as_matrix(self: Any, columns: Any = None) -> Any:
    return (self if columns is None else self[columns]).to_numpy()


def _set_value(self: Any, index: Any, col: Any, value: Any) -> Any:
    self.at[index, col] = value
    return self


def _sort(self: Any, columns: Any = None, **options: Any) -> Any:
    return self.sort_index(**options) if columns is None else self.sort_values(columns, **options)


def _add_ix(kind: Any) -> None:
    if hasattr(kind, "ix"):
        return

    def ix(self: Any) -> _Ix:
        mapped(get_message("old.pandas_ix", name__=kind.__name__))
        return _Ix(self)

    kind.ix = property(ix)


class _Ix:
    """Indexer by labels; integers are positions if the labels are not integers."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __getitem__(self, key: Any) -> Any:
        return self._chosen(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        keys = key if isinstance(key, tuple) else (key,)
        self._data.loc[tuple(self._label(axis, one) for axis, one in enumerate(keys))] = value

    def _chosen(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        return self._data.loc[tuple(self._label(axis, one) for axis, one in enumerate(keys))]

    def _label(self, axis: int, key: Any) -> Any:
        labels = self._data.axes[axis]
        if labels.inferred_type == "integer":
            return key
        if isinstance(key, int):
            return labels[key]
        if isinstance(key, slice) and (_is_number(key.start) or _is_number(key.stop)):
            return labels[key]
        if isinstance(key, list) and key and all(map(_is_number, key)):
            return labels[key]
        return key


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _reader(real: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(real)
    def read(*args: Any, **options: Any) -> Any:
        squeeze = options.pop("squeeze", False)
        errors, warns = options.pop("error_bad_lines", None), options.pop("warn_bad_lines", True)
        if errors is not None:
            options["on_bad_lines"] = "error" if errors else "warn" if warns else "skip"
            mapped(read_as(f"pandas {name}(error_bad_lines=…)", "on_bad_lines=…"))
        if options.pop("delim_whitespace", False):
            options["sep"] = r"\s+"
            mapped(read_as(f"pandas {name}(delim_whitespace=True)", "sep='\\s+'"))
        for gone in ("mangle_dupe_cols", "tupleize_cols", "as_recarray", "compact_ints"):
            if gone in options and not options.pop(gone):
                mapped(get_message("old.pandas_without", name=name, gone=gone))
        table = real(*args, **options)
        return table.squeeze("columns") if squeeze else table

    return read
