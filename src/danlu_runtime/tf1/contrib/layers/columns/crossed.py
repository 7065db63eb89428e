"""Columns of combinations of other columns."""

from collections import namedtuple
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.layers.columns.base import _LinearEmbeddingLookupArguments
from danlu_runtime.tf1.contrib.layers.columns.real import _BucketizedColumn
from danlu_runtime.tf1.contrib.layers.columns.sparse import _Categorical, _SparseColumn
from danlu_runtime.tf1.contrib.layers.sparse_feature_cross_op import sparse_feature_cross


class _CrossedColumn(
    _Categorical,
    namedtuple(
        "_CrossedColumn",
        [
            "columns",
            "hash_bucket_size",
            "hash_key",
            "combiner",
            "ckpt_to_load_from",
            "tensor_name_in_ckpt",
        ],
    ),
):
    """Every combination of the values of some columns, hashed; columns are kept by name."""

    def __new__(
        cls,
        columns: Iterable[Any],
        hash_bucket_size: int,
        hash_key: int | None,
        combiner: str = "sum",
        ckpt_to_load_from: str | None = None,
        tensor_name_in_ckpt: str | None = None,
    ) -> Any:
        columns = list(columns)
        for column in columns:
            if not isinstance(column, _SparseColumn | _CrossedColumn | _BucketizedColumn):
                raise TypeError(
                    "columns must be a set of _SparseColumn, _CrossedColumn, or "
                    f"_BucketizedColumn instances. (column {column} is a {type(column).__name__})"
                )
        if len(columns) < 2:
            raise ValueError(f"columns must contain at least 2 elements. columns: {columns}")
        if hash_bucket_size < 2:
            raise ValueError(
                f"hash_bucket_size must be at least 2. hash_bucket_size: {hash_bucket_size}"
            )
        if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
            raise ValueError(
                "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
            )
        return super().__new__(
            cls,
            tuple(sorted(columns, key=lambda column: column.name)),
            hash_bucket_size,
            hash_key,
            combiner,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
        )

    @property
    def name(self) -> str:
        return "_X_".join(sorted(column.name for column in self.columns))

    @property
    def length(self) -> int:
        return self.hash_bucket_size

    @property
    def config(self) -> dict[str, Any]:
        return {name: spec for column in self.columns for name, spec in column.config.items()}

    def _leaves(self) -> Iterator[Any]:
        for column in self.columns:
            if isinstance(column, _CrossedColumn):
                yield from column._leaves()
            else:
                yield column

    def _transform_feature(self, inputs: Any) -> tf.SparseTensor:
        # Values themselves are crossed, and not the ids their own column would give them.
        tensors = [
            inputs.get(leaf.name)
            if isinstance(leaf, _SparseColumn)
            else leaf.to_sparse_tensor(inputs.get(leaf))
            for leaf in self._leaves()
        ]
        return sparse_feature_cross(
            tensors,
            hashed_output=True,
            num_buckets=self.hash_bucket_size,
            hash_key=self.hash_key,
            name="cross",
        )

    def _to_dnn_input_layer(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse_in_dnn("embedding_column")

    def _checkpoint_path(self) -> tuple[str, str] | None:
        if self.ckpt_to_load_from is None:
            return None
        return self.ckpt_to_load_from, self.tensor_name_in_ckpt

    def _wide_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> _LinearEmbeddingLookupArguments:
        return self._linear(input_tensor, self.combiner)
