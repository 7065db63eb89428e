"""Data sets in TFRecord files.

``metadata``: files, features and the number of samples. ``records``: the records as tensors.
``items``: ``mox.get_tfrecord``. ``tfrecord_common``: the path that scripts import.
"""
