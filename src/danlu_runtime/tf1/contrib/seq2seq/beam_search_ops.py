"""Beams put together from what each step chose and from where it came.

TensorFlow 1.15 had a compiled operation for this; here it is a loop of gathers.
"""

from typing import Any

import tensorflow.compat.v1 as tf


def gather_tree(
    step_ids: Any,
    parent_ids: Any,
    max_sequence_lengths: Any,
    end_token: Any,
    name: str | None = None,
) -> tf.Tensor:
    """Return whole beams ``[time, batch, beam]``: followed back from the last step of each batch.

    Behind the length of a batch, and behind the first end token of a beam, stands the end token.
    """
    with tf.name_scope(name, "GatherTree", [step_ids, parent_ids]):
        step_ids = tf.convert_to_tensor(step_ids)
        parent_ids = tf.cast(parent_ids, tf.int32)
        shape = tf.shape(step_ids)
        time, batch, width = shape[0], shape[1], shape[2]
        lengths = tf.expand_dims(tf.cast(max_sequence_lengths, tf.int32), 1)
        ends = tf.fill([batch, width], tf.cast(end_token, step_ids.dtype))
        beams = tf.tile(tf.expand_dims(tf.range(width), 0), [batch, 1])

        def back(later: Any, step: Any) -> tuple[tf.Tensor, tf.Tensor]:
            _, beam = later
            ids, parents, now = step
            within = tf.tile(now < lengths, [1, width])
            chosen = tf.where(within, tf.gather(ids, beam, batch_dims=1), ends)
            return chosen, tf.where(within, tf.gather(parents, beam, batch_dims=1), beam)

        steps = (step_ids, parent_ids, tf.range(time))
        followed, _ = tf.scan(back, steps, initializer=(ends, beams), reverse=True)
        over = tf.cumsum(tf.cast(tf.equal(followed, ends), tf.int32), exclusive=True) > 0
        whole = tf.where(over, tf.ones_like(followed) * ends, followed)
        whole.set_shape(step_ids.shape)
        return whole


def gather_tree_from_array(t: tf.Tensor, parent_ids: Any, sequence_length: Any) -> tf.Tensor:
    """Return values ``[time, batch, beam, …]`` in the order of the final beams."""
    shape = tf.shape(parent_ids)
    time, batch, width = shape[0], shape[1], shape[2]
    own = tf.tile(tf.reshape(tf.range(width), [1, 1, width]), tf.stack([time, batch, 1]))
    longest = tf.cast(tf.reduce_max(sequence_length, 1), tf.int32)
    beams = gather_tree(own, parent_ids, longest, width + 1)
    within = tf.transpose(tf.sequence_mask(sequence_length, maxlen=time), [2, 0, 1])
    ordered = tf.gather(t, tf.where(within, beams, own), batch_dims=2)
    ordered.set_shape(t.shape)
    return ordered
