"""`CategoricalProcessor`: columns of categories as ids, each column with its own vocabulary."""

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from danlu_runtime.tf1.contrib.learn.preprocessing.categorical_vocabulary import (
    CategoricalVocabulary,
)


class CategoricalProcessor:
    """Learns the categories of each column, then maps rows to ids."""

    def __init__(
        self,
        min_frequency: int = 0,
        share: bool = False,
        vocabularies: list[CategoricalVocabulary] | None = None,
    ) -> None:
        self.min_frequency = min_frequency
        self.share = share
        self.vocabularies_ = vocabularies

    def freeze(self, freeze: bool = True) -> None:
        for vocabulary in self.vocabularies_ or ():
            vocabulary.freeze(freeze)

    def fit(self, x: Iterable[Any], unused_y: Any = None) -> "CategoricalProcessor":
        for row in x:
            if self.vocabularies_ is None:
                first = CategoricalVocabulary()
                self.vocabularies_ = [first if self.share else CategoricalVocabulary() for _ in row]
            for vocabulary, value in zip(self.vocabularies_, row, strict=True):
                if not _missing(value):
                    vocabulary.add(value)
        if self.min_frequency > 0:
            for vocabulary in self.vocabularies_ or ():
                vocabulary.trim(self.min_frequency)
        self.freeze()
        return self

    def fit_transform(
        self, x: Iterable[Any], unused_y: Any = None
    ) -> Iterator[np.ndarray[Any, Any]]:
        first, second = itertools.tee(x)
        self.fit(first)
        return self.transform(second)

    def transform(self, x: Iterable[Any]) -> Iterator[np.ndarray[Any, Any]]:
        self.freeze()
        vocabularies = self.vocabularies_ or []
        for row in x:
            ids = np.zeros(len(row), dtype=np.int64)
            for index, (vocabulary, value) in enumerate(zip(vocabularies, row, strict=True)):
                if not _missing(value):
                    ids[index] = vocabulary.get(value)
            yield ids


def _missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))
