"""`tf.contrib.learn.preprocessing`, text: words and bytes of documents as rows of ids."""

import itertools
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.preprocessing.categorical_vocabulary import (
    CategoricalVocabulary,
)

__all__ = ["ByteProcessor", "VocabularyProcessor", "tokenizer"]

TOKENIZER_RE = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Yield the words of each document."""
    for value in iterator:
        yield TOKENIZER_RE.findall(value)


class ByteProcessor:
    """Maps documents to rows of bytes, cut or filled with zeros."""

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> "ByteProcessor":
        return self

    def fit_transform(self, x: Iterable[Any]) -> Iterator[np.ndarray[Any, Any]]:
        return self.transform(x)

    def transform(self, x: Iterable[Any]) -> Iterator[np.ndarray[Any, Any]]:
        for document in x:
            content = tf.compat.as_bytes(document)[: self.max_document_length]
            row = np.zeros(self.max_document_length, np.uint8)
            row[: len(content)] = np.frombuffer(content, np.uint8)
            yield row

    def reverse(self, x: Iterable[np.ndarray[Any, Any]]) -> Iterator[str]:
        """Yield the documents of rows of bytes."""
        for row in x:
            yield bytes(row).rstrip(b"\0").decode("utf-8", "ignore")


class VocabularyProcessor:
    """Maps documents to rows of word ids; id 0 is a word that is not in the vocabulary."""

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[list[str]]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> "VocabularyProcessor":
        """Learn the vocabulary and close it."""
        for tokens in self._tokenizer(raw_documents):
            for token in tokens:
                self.vocabulary_.add(token)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(
        self, raw_documents: Iterable[str], unused_y: Any = None
    ) -> Iterator[np.ndarray[Any, Any]]:
        first, second = itertools.tee(raw_documents)
        self.fit(first)
        return self.transform(second)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray[Any, Any]]:
        """Yield a row of int64 ids for each document, cut or filled with zeros."""
        for tokens in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for index, token in enumerate(tokens[: self.max_document_length]):
                row[index] = self.vocabulary_.get(token)
            yield row

    def reverse(self, documents: Iterable[np.ndarray[Any, Any]]) -> Iterator[str]:
        """Yield the words of rows of ids, joined by blanks."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(class_id) for class_id in row)

    def save(self, filename: str) -> None:
        """Write the processor; `restore` reads it."""
        with tf.gfile.Open(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> "VocabularyProcessor":
        """Read a processor that `save` wrote. Unpickles: only a file of your own."""
        with tf.gfile.Open(filename, "rb") as file:
            return pickle.loads(file.read())
