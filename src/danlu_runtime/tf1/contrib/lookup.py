"""`tf.contrib.lookup`: tables of words and ids.

The tables are TensorFlow's own; this module has the older names and arguments (`mapping`, `dtype`).
"""

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import lookup_ops

FastHashSpec = lookup_ops.FastHashSpec
HasherSpec = lookup_ops.HasherSpec
IdTableWithHashBuckets = lookup_ops.IdTableWithHashBuckets
InitializableLookupTableBase = lookup_ops.InitializableLookupTableBase
KeyValueTensorInitializer = lookup_ops.KeyValueTensorInitializer
LookupInterface = lookup_ops.LookupInterface
StrongHashSpec = lookup_ops.StrongHashSpec
TableInitializerBase = lookup_ops.TableInitializerBase
TextFileIdTableInitializer = lookup_ops.TextFileIdTableInitializer
TextFileIndex = lookup_ops.TextFileIndex
TextFileInitializer = lookup_ops.TextFileInitializer
TextFileStringTableInitializer = lookup_ops.TextFileStringTableInitializer

index_table_from_file = lookup_ops.index_table_from_file
index_to_string_table_from_file = lookup_ops.index_to_string_table_from_file


class HashTable(lookup_ops.StaticHashTableV1):
    """A table filled once; `init` and `initializer` are the op that fills it."""

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        shared_name: Any = None,
        name: str = "hash_table",
    ) -> None:
        # TensorFlow 2 has no shared_name here: a table is found by the name of its op.
        super().__init__(initializer, default_value, name=shared_name or name)

    @property
    def init(self) -> Any:
        return self.initializer


class MutableHashTable(lookup_ops.MutableHashTable):
    """A table that `insert` changes."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(
            key_dtype, value_dtype, default_value, name=shared_name or name, checkpoint=checkpoint
        )


class MutableDenseHashTable(lookup_ops.DenseHashTable):
    """A faster table that needs a key for empty and one for deleted buckets."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        shared_name: str | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(
            key_dtype,
            value_dtype,
            default_value,
            empty_key,
            deleted_key,
            initial_num_buckets,
            shared_name or name,
            checkpoint,
        )


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: Any = tf.string,
    name: str | None = None,
) -> Any:
    """Return a table of the ids of a list of words."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return lookup_ops.index_table_from_tensor(
        vocabulary_list=mapping,
        num_oov_buckets=num_oov_buckets,
        default_value=default_value,
        hasher_spec=hasher_spec,
        dtype=dtype,
        name=name,
    )


def index_to_string_table_from_tensor(
    mapping: Any, default_value: str = "UNK", name: str | None = None
) -> Any:
    """Return a table of the words of ids."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return lookup_ops.index_to_string_table_from_tensor(
        vocabulary_list=mapping, default_value=default_value, name=name
    )


def string_to_index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Return a table of the ids of the lines of a file."""
    return index_table_from_file(
        vocabulary_file,
        num_oov_buckets=num_oov_buckets,
        vocab_size=vocab_size,
        default_value=default_value,
        hasher_spec=hasher_spec,
        key_dtype=tf.string,
        name=name,
    )


def string_to_index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Return a table of the ids of a list of words."""
    return index_table_from_tensor(
        mapping, num_oov_buckets, default_value, hasher_spec, tf.string, name
    )


def string_to_index(
    tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None
) -> Any:
    """Return the ids of words; run `tf.tables_initializer()` first."""
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(
    tensor: Any, mapping: Any, default_value: str = "UNK", name: str | None = None
) -> Any:
    """Return the words of ids; run `tf.tables_initializer()` first."""
    table = index_to_string_table_from_tensor(mapping, default_value, name)
    return table.lookup(tf.to_int64(tensor))
