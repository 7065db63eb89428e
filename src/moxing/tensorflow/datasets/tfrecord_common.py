"""An alternative path from which scripts import the TFRecord data sets."""

from moxing.tensorflow.datasets.tfrecord.tfrecord_common import *  # noqa: F403
from moxing.tensorflow.datasets.tfrecord.tfrecord_common import __all__ as __all__
