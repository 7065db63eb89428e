"""``tf.contrib.metrics``: streaming metrics; predictions come first."""

import danlu_runtime.tf1.tf_slim_import  # isort: split

from tensorflow.python.ops.sets_impl import (
    set_difference,
    set_intersection,
    set_size,
    set_union,
)
from tf_slim.metrics import classification, histogram_ops, metric_ops
from tf_slim.metrics.classification import accuracy, f1_score
from tf_slim.metrics.histogram_ops import auc_using_histogram
from tf_slim.metrics.metric_ops import *
from tf_slim.metrics.metric_ops import (
    precision_at_recall,
    streaming_concat,
    streaming_covariance,
    streaming_pearson_correlation,
)

from danlu_runtime.tf1.contrib.metrics import confusion_matrix_ops
from danlu_runtime.tf1.contrib.metrics.confusion_matrix_ops import confusion_matrix
