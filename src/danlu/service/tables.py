"""Reads a definition field by field and remembers every fault with its place."""

from collections.abc import Mapping, Sequence
from typing import Any

from danlu.errors import MOST_FAULTS, suggestion
from danlu.job.algorithm import text_of

Found = list[tuple[str, str]]  # field and sentence


class Table:
    """One table as somebody wrote it. ``place`` stands before the names of its fields."""

    def __init__(self, data: Mapping[str, Any], faults: Found, place: str = "") -> None:
        self._data = data
        self._faults = faults
        self._place = place
        self._asked: set[str] = set()

    def fault(self, field: str, sentence: str) -> None:
        self._faults.append((f"{self._place}{field}", sentence))

    def done(self) -> None:
        """Tell every field that nobody asked for."""
        for field in self._data:
            if field not in self._asked:
                told = len(self._faults) >= MOST_FAULTS  # to look for a name takes time
                near = "" if told else suggestion(str(field), self._asked)
                self.fault(str(field), f"is not a field. {near}".rstrip())

    def text(self, field: str, default: str | None = None) -> str:
        """``default`` None: there must be one, and not an empty one."""
        value = self._take(field, default)
        if isinstance(value, str) and (value or default is not None) and "\0" not in value:
            return value
        wish = "text" if default is not None else "a non-empty string"
        self.fault(field, f"must be {wish}, got {value!r}.")
        return default or ""

    def one_of(self, field: str, names: Sequence[str]) -> str:
        """The first of the names is what is meant without any."""
        value = self._take(field, names[0])
        if value in names:
            return str(value)
        listed = ", ".join(name for name in names if name)
        self.fault(field, f"must be one of {listed}, got {value!r}.")
        return names[0]

    def switch(self, field: str, default: bool) -> bool:
        value = self._take(field, default)
        if isinstance(value, bool):
            return value
        self.fault(field, f"must be true or false, got {value!r}.")
        return default

    def value(self, field: str) -> str | None:
        """A plain value as text, or None where there is none."""
        value = self._take(field, None)
        text = text_of(value)
        if value is not None and text is None:
            self.fault(field, f"must be text, a number or a boolean, got {value!r}.")
        return text

    def values(self, field: str) -> tuple[str, ...]:
        value = self._take(field, [])
        texts = [text_of(item) for item in value] if isinstance(value, list | tuple) else [None]
        kept = tuple(text for text in texts if text is not None)
        if len(kept) < len(texts):
            self.fault(field, f"must be a list of plain values, got {value!r}.")
            return ()
        return kept

    def table(self, field: str) -> "Table":
        value = self._take(field, {})
        if not isinstance(value, Mapping):
            self.fault(field, f"must be a table, got {value!r}.")
            value = {}
        return Table(value, self._faults, f"{self._place}{field}.")

    def tables(self, field: str) -> "list[Table]":
        value = self._take(field, [])
        if not isinstance(value, list | tuple) or not all(isinstance(i, Mapping) for i in value):
            self.fault(field, f"must be a list of tables, got {value!r}.")
            return []
        return [Table(v, self._faults, f"{self._place}{field}[{i}].") for i, v in enumerate(value)]

    def _take(self, field: str, default: Any) -> Any:
        self._asked.add(field)
        value = self._data.get(field)
        return default if value is None else value
