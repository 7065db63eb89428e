"""What was found, by kind; each text once for a file, at its first line."""

from __future__ import annotations

from typing import Any

KINDS = ("repaired", "mapped", "gone", "missing", "errors")


class Report:
    def __init__(self) -> None:
        self._found: dict[str, dict[tuple[str, str], int]] = {kind: {} for kind in KINDS}
        self.tensorflow = ""

    def add(self, kind: str, file: str, line: int, text: str) -> None:
        found = self._found[kind]
        found[file, text] = min(line, found.get((file, text), line))

    def to_json(self) -> dict[str, Any]:
        lists = {
            kind: [
                {"file": file, "line": line, "text": text}
                for (file, text), line in sorted(
                    found.items(), key=lambda item: (item[0][0], item[1])
                )
            ]
            for kind, found in self._found.items()
        }
        return {**lists, "tensorflow": self.tensorflow}
