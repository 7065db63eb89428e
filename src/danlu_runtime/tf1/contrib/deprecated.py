"""`tf.contrib.deprecated`: summaries as they were before 1.0; tags are tensors or text."""

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import gen_logging_ops


def scalar_summary(tags: Any, values: Any, collections: Any = None, name: str | None = None) -> Any:
    """Return a summary of numbers, one tag for each."""
    with tf.name_scope(name, "ScalarSummary", [tags, values]) as scope:
        op = gen_logging_ops.scalar_summary(tags=tags, values=values, name=scope)
    return _collected(op, collections)


def histogram_summary(
    tag: Any, values: Any, collections: Any = None, name: str | None = None
) -> Any:
    """Return a summary of the distribution of values."""
    with tf.name_scope(name, "HistogramSummary", [tag, values]) as scope:
        op = gen_logging_ops.histogram_summary(tag=tag, values=values, name=scope)
    return _collected(op, collections)


def image_summary(
    tag: Any, tensor: Any, max_images: int = 3, collections: Any = None, name: str | None = None
) -> Any:
    """Return a summary of the first images of a batch."""
    with tf.name_scope(name, "ImageSummary", [tag, tensor]) as scope:
        op = gen_logging_ops.image_summary(
            tag=tag, tensor=tensor, max_images=max_images, name=scope
        )
    return _collected(op, collections)


def audio_summary(
    tag: Any,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    name: str | None = None,
) -> Any:
    """Return a summary of the first sounds of a batch."""
    with tf.name_scope(name, "AudioSummary", [tag, tensor]) as scope:
        rate = tf.convert_to_tensor(sample_rate, tf.float32, name="sample_rate")
        op = gen_logging_ops.audio_summary_v2(
            tag=tag, tensor=tensor, max_outputs=max_outputs, sample_rate=rate, name=scope
        )
    return _collected(op, collections)


def merge_summary(inputs: Any, collections: Any = None, name: str | None = None) -> Any:
    """Return one summary of several."""
    with tf.name_scope(name, "MergeSummary", inputs):
        op = gen_logging_ops.merge_summary(inputs=inputs, name=name)
    for key in collections or ():
        tf.add_to_collection(key, op)
    return op


def merge_all_summaries(key: Any = tf.GraphKeys.SUMMARIES) -> Any:
    """Return one summary of all of the graph, None where there are none."""
    inputs = tf.get_collection(key)
    return merge_summary(inputs) if inputs else None


def _collected(op: Any, collections: Any) -> Any:
    for key in [tf.GraphKeys.SUMMARIES] if collections is None else collections:
        tf.add_to_collection(key, op)
    return op
