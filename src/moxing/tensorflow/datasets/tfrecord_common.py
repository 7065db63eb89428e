"""The other path scripts import TFRecord data sets from."""

from moxing.tensorflow.datasets.tfrecord.tfrecord_common import *  # noqa: F403
from moxing.tensorflow.datasets.tfrecord.tfrecord_common import __all__ as __all__
