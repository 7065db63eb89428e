"""TFRecord files; ``tfrecord_common`` is a path scripts import."""
