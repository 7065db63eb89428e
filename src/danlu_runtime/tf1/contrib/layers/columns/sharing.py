"""Embedding columns that have one variable together."""

from collections.abc import Sequence
from typing import Any

from danlu_runtime.tf1.contrib.layers.columns.dense import _EmbeddingColumn
from danlu_runtime.tf1.contrib.layers.columns.sparse import _SparseColumn, _WeightedSparseColumn

_NAMED = 3  # a shared embedding is called by its first columns


def shared_embedding_columns(
    sparse_id_columns: Sequence[Any],
    dimension: int,
    combiner: str = "mean",
    shared_embedding_name: str | None = None,
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Sequence[_EmbeddingColumn]:
    """Return a column each, over one embedding; a list where there is only one, else a tuple."""
    _check(sparse_id_columns)
    single = len(sparse_id_columns) == 1
    first = sparse_id_columns[0]
    if not single and not all(_compatible(first, other) for other in sparse_id_columns[1:]):
        raise ValueError("The input sparse id columns are not compatible.")
    if not single and not shared_embedding_name:
        shared_embedding_name = _name(sparse_id_columns)
    columns = [
        _EmbeddingColumn(
            column,
            dimension,
            combiner,
            initializer,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            shared_embedding_name,
            None if single else first.length,
            max_norm=max_norm,
            trainable=trainable,
        )
        for column in sparse_id_columns
    ]
    return columns if single else tuple(columns)


def _check(columns: Any) -> None:
    if not isinstance(columns, Sequence) or isinstance(columns, str):
        raise TypeError(
            "sparse_id_columns must be a non-string sequence (ex: list or tuple) instead of type "
            f"{type(columns)}."
        )
    if len(columns) < 1:
        raise ValueError("The input sparse_id_columns should have at least one element.")
    for column in columns:
        if not isinstance(column, _SparseColumn | _WeightedSparseColumn):
            raise TypeError(
                "Elements of sparse_id_columns must be _SparseColumn or _WeightedSparseColumn, "
                f"but {column} is not."
            )


def _compatible(first: Any, other: Any) -> bool:
    # Only a weighted column knows how to look through a weighted one.
    if isinstance(first, _WeightedSparseColumn):
        return first.is_compatible(other)
    return other.is_compatible(first)


def _name(columns: Sequence[Any]) -> str:
    plain = sorted(c.name for c in columns if isinstance(c, _SparseColumn))
    weighted = sorted(c.name for c in columns if not isinstance(c, _SparseColumn))
    names = [*plain, *weighted]
    others = f"_plus_{len(names) - _NAMED}_others" if len(names) > _NAMED else ""
    return "_".join(names[:_NAMED]) + others + "_shared_embedding"
