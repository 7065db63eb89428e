"""`CategoricalVocabulary`: names of categories and their ids."""

import collections
from typing import Any


class CategoricalVocabulary:
    """Gives each new category the next id until it is frozen; id 0 is the unknown token."""

    def __init__(self, unknown_token: Any = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._support_reverse = support_reverse
        self._reverse_mapping: list[Any] = [unknown_token]
        self._freq: dict[Any, int] = collections.defaultdict(int)
        self._freeze = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Close the vocabulary, or open it again."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """Return the id of a category: a new one, or 0 once frozen."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            if self._support_reverse:
                self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Count a category; once frozen only those known."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Drop categories that are too rare or too frequent; ids follow the frequency."""
        # Equal counts in the order of their names, so that ids do not depend on the documents.
        ordered = sorted(sorted(self._freq.items()), key=lambda item: item[1], reverse=True)
        self._mapping = {self._unknown_token: 0}
        self._reverse_mapping = [self._unknown_token]
        for category, count in ordered:
            if max_frequency > 0 and count >= max_frequency:
                continue
            if count <= min_frequency:
                break
            self._mapping[category] = len(self._mapping)
            if self._support_reverse:
                self._reverse_mapping.append(category)
        self._freq = collections.defaultdict(
            int,
            {
                category: self._freq[category]
                for category in self._mapping
                if category in self._freq
            },
        )

    def reverse(self, class_id: int) -> Any:
        """Return the category of an id."""
        if not self._support_reverse:
            raise ValueError(
                "This vocabulary wasn't initialized with support_reverse, so reverse() has no ids."
            )
        return self._reverse_mapping[class_id]
