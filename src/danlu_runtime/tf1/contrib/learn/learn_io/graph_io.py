"""`tf.contrib.learn.io`, queues: batches of examples read from files.

The queues are those of TensorFlow 1: a session needs `tf.train.start_queue_runners`, which
estimators and monitored sessions call by themselves.
"""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

_LARGEST_WITHOUT_PRELOADING = 1


def read_batch_examples(
    file_pattern: Any,
    batch_size: int,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: int = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """Return a batch of serialized examples."""
    _, examples = read_keyed_batch_examples(
        file_pattern,
        batch_size,
        reader,
        randomize_input=randomize_input,
        num_epochs=num_epochs,
        queue_capacity=queue_capacity,
        num_threads=num_threads,
        read_batch_size=read_batch_size,
        parse_fn=parse_fn,
        name=name,
        seed=seed,
    )
    return examples


def read_keyed_batch_examples(
    file_pattern: Any,
    batch_size: int,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: int = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> tuple[Any, Any]:
    """Return a batch of the readers' keys and one of serialized examples."""
    files = _files(file_pattern, randomize_input)
    if not queue_capacity or queue_capacity <= batch_size:
        raise ValueError(
            f"queue_capacity must be greater than batch_size: {queue_capacity} and {batch_size}."
        )
    with tf.name_scope(name, "read_batch_examples", [file_pattern]) as scope:
        queue = tf.train.string_input_producer(
            tf.constant(files, name="input"),
            shuffle=randomize_input,
            num_epochs=num_epochs,
            seed=seed,
            name="file_names",
        )
        read = [_read(reader(), queue, read_batch_size, parse_fn) for _ in range(num_threads)]
        many = read_batch_size > 1
        allow_smaller = num_epochs is not None
        if randomize_input:
            return tuple(
                tf.train.shuffle_batch_join(
                    read,
                    batch_size,
                    capacity=queue_capacity,
                    min_after_dequeue=max(1, min(queue_capacity // 2, queue_capacity - batch_size)),
                    seed=seed,
                    enqueue_many=many,
                    allow_smaller_final_batch=allow_smaller,
                    name=scope,
                )
            )
        return tuple(
            tf.train.batch_join(
                read,
                batch_size,
                capacity=queue_capacity,
                enqueue_many=many,
                allow_smaller_final_batch=allow_smaller,
                name=scope,
            )
        )


def read_batch_features(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    feature_queue_capacity: int = 100,
    reader_num_threads: int = 1,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    read_batch_size: int | None = None,
) -> dict[str, Any]:
    """Return a batch of parsed features."""
    _, parsed = read_keyed_batch_features(
        file_pattern,
        batch_size,
        features,
        reader,
        randomize_input=randomize_input,
        num_epochs=num_epochs,
        queue_capacity=queue_capacity,
        reader_num_threads=reader_num_threads,
        feature_queue_capacity=feature_queue_capacity,
        num_enqueue_threads=num_enqueue_threads,
        parse_fn=parse_fn,
        name=name,
        read_batch_size=read_batch_size,
    )
    return parsed


def read_keyed_batch_features(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    read_batch_size: int | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Return a batch of the readers' keys and one of parsed features."""
    with tf.name_scope(name, "read_batch_features", [file_pattern]) as scope:
        keys, examples = read_keyed_batch_examples(
            file_pattern,
            batch_size,
            reader,
            randomize_input=randomize_input,
            num_epochs=num_epochs,
            queue_capacity=queue_capacity,
            num_threads=reader_num_threads,
            read_batch_size=read_batch_size or batch_size,
            parse_fn=parse_fn,
            name=scope,
        )
        return queue_parsed_features(
            tf.parse_example(examples, features),
            keys=keys,
            feature_queue_capacity=feature_queue_capacity,
            num_enqueue_threads=num_enqueue_threads,
            name=scope,
        )


def queue_parsed_features(
    parsed_features: Mapping[str, Any],
    keys: Any = None,
    feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2,
    name: str | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Return the same batches through a queue, so that parsing goes on while a step runs."""
    parts: list[Any] = [] if keys is None else [keys]
    for _, value in sorted(parsed_features.items()):
        sparse = isinstance(value, tf.SparseTensor)
        parts += [value.indices, value.values, value.dense_shape] if sparse else [value]
    with tf.name_scope(name, "queue_parsed_features", parts):
        queue = tf.FIFOQueue(feature_queue_capacity, [part.dtype for part in parts])
        tf.summary.scalar(
            "queue/parsed_features/fraction_full",
            tf.cast(queue.size(), tf.float32) * (1.0 / feature_queue_capacity),
        )
        runner = tf.train.QueueRunner(queue, [queue.enqueue(parts)] * num_enqueue_threads)
        tf.train.add_queue_runner(runner)
        taken = queue.dequeue()
    taken = list(taken) if isinstance(taken, list | tuple) else [taken]
    for before, after in zip(parts, taken, strict=True):
        after.set_shape(before.shape)
    queued_keys = taken.pop(0) if keys is not None else None
    found: dict[str, Any] = {}
    for name_, value in sorted(parsed_features.items()):
        if isinstance(value, tf.SparseTensor):
            found[name_] = tf.SparseTensor(taken.pop(0), taken.pop(0), taken.pop(0))
        else:
            found[name_] = taken.pop(0)
    return queued_keys, found


def read_batch_record_features(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    name: str = "dequeue_record_examples",
) -> dict[str, Any]:
    """Return a batch of features parsed from TFRecord files."""
    return read_batch_features(
        file_pattern,
        batch_size,
        features,
        reader=lambda: tf.TFRecordReader(),
        randomize_input=randomize_input,
        num_epochs=num_epochs,
        queue_capacity=queue_capacity,
        reader_num_threads=reader_num_threads,
        name=name,
    )


def _read(
    reader: Any, queue: Any, read_batch_size: int, parse_fn: Callable[[Any], Any] | None
) -> list[Any]:
    if read_batch_size > _LARGEST_WITHOUT_PRELOADING:
        keys, examples = reader.read_up_to(queue, read_batch_size)
    else:
        keys, examples = reader.read(queue)
    return [keys, parse_fn(examples) if parse_fn else examples]


def _files(file_pattern: Any, randomize_input: bool) -> list[str]:
    patterns = file_pattern if isinstance(file_pattern, list | tuple) else [file_pattern]
    if not patterns:
        raise ValueError("No files given to dequeue_examples.")
    found = [path for pattern in patterns for path in tf.gfile.Glob(pattern)]
    if not found:
        raise ValueError(f"No files match {file_pattern}.")
    return found if randomize_input else sorted(found)
