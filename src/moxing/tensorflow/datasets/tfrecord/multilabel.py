"""TFRecord files of images with several labels each, as tensors."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.tfrecord.classification import ImageClassificationTFRecordDataset


class MultilabelClassificationTFRecordDataset(ImageClassificationTFRecordDataset):
    """As for one label, but ``image/class/label`` holds any number of them.

    ``label`` is an int64 vector with a 1 for each.
    """

    def _default_keys(self) -> dict[str, Any]:
        return {**super()._default_keys(), "image/class/label": tf.io.VarLenFeature(tf.int64)}

    def _label(self, label: Any) -> tf.Tensor:
        if isinstance(label, tf.SparseTensor):
            label = label.values
        classes = self.metadata.num_classes
        inside = tf.debugging.assert_less(
            label,
            tf.constant(classes, tf.int64),
            message=f"A record of {self.metadata} has a label beyond its {classes} classes",
        )
        with tf.control_dependencies([inside]):
            hot = tf.one_hot(
                tf.reshape(label, [-1]), classes, on_value=1, off_value=0, dtype=tf.int64
            )
        return tf.cast(tf.reduce_any(tf.cast(hot, tf.bool), axis=0), tf.int64)
