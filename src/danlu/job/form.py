"""Readers of requests and definitions, field by field, that collect every error."""

from collections.abc import Mapping, Sequence
from typing import Any

from danlu.errors import MAX_FAULTS, suggestion
from danlu.job.definitions import text_of
from danlu.messages import get_message

Found = list[tuple[str, str]]  # field and sentence


class FieldReader:
    """Fields as the user wrote them. Every error is collected with the name of its field."""

    def __init__(self, data: Mapping[str, Any], faults: Found) -> None:
        self._data = data
        self._faults = faults
        self._asked: set[str] = set()

    def fault(self, field: str, sentence: str) -> None:
        self._faults.append((field, sentence))

    def check_unknown(self) -> None:
        """Add an error for every field that was not read."""
        for field in self._data:
            if field not in self._asked:
                # The search for a similar name takes time, and no more faults are shown.
                is_full = len(self._faults) >= MAX_FAULTS
                near = "" if is_full else suggestion(str(field), self._asked)
                self.fault(str(field), get_message("fault.unknown_field", near=near).rstrip())

    def text(self, field: str, default: str | None = None) -> str:
        """Return a text. It must not be empty, unless ``default`` is."""
        value = self._take(field, default)
        if isinstance(value, str) and "\0" in value:
            self.fault(field, get_message("fault.nul"))
            return ""
        if isinstance(value, str) and (value or default == ""):
            return value
        expected = get_message("expects.text" if default == "" else "expects.some_text")
        self.fault(field, get_message("fault.must_be", expected=expected, value=value))
        return ""

    def switch(self, field: str, default: bool = False) -> bool:
        value = self._take(field, default)
        if isinstance(value, bool):
            return value
        self.fault(field, get_message("fault.switch", value=value))
        return default

    def _take(self, field: str, default: Any) -> Any:
        self._asked.add(field)
        value = self._data.get(field)
        return default if value is None else value


class Table(FieldReader):
    """One table of a definition. ``place`` is the prefix of its field names in errors."""

    def __init__(self, data: Mapping[str, Any], faults: Found, place: str = "") -> None:
        super().__init__(data, faults)
        self._place = place

    def fault(self, field: str, sentence: str) -> None:
        super().fault(f"{self._place}{field}", sentence)

    def one_of(self, field: str, names: Sequence[str]) -> str:
        """Return one of ``names``. The first is the default."""
        value = self._take(field, names[0])
        if value in names:
            return str(value)
        listed = ", ".join(name for name in names if name)
        self.fault(field, get_message("fault.one_of", listed=listed, value=value))
        return names[0]

    def value(self, field: str) -> str | None:
        """Return a plain value as text, or None if the field is not set."""
        value = self._take(field, None)
        text = text_of(value)
        if value is not None and text is None:
            self.fault(field, get_message("fault.plain_value", value=value))
        return text

    def values(self, field: str) -> tuple[str, ...]:
        value = self._take(field, [])
        texts = [text_of(item) for item in value] if isinstance(value, list | tuple) else [None]
        kept = tuple(text for text in texts if text is not None)
        if len(kept) < len(texts):
            self.fault(field, get_message("fault.plain_values", value=value))
            return ()
        return kept

    def table(self, field: str) -> "Table":
        value = self._take(field, {})
        if not isinstance(value, Mapping):
            self.fault(field, get_message("fault.table", value=value))
            value = {}
        return Table(value, self._faults, f"{self._place}{field}.")

    def tables(self, field: str) -> "list[Table]":
        value = self._take(field, [])
        if not isinstance(value, list | tuple) or not all(isinstance(i, Mapping) for i in value):
            self.fault(field, get_message("fault.tables", value=value))
            return []
        return [Table(v, self._faults, f"{self._place}{field}[{i}].") for i, v in enumerate(value)]
