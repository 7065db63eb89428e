"""``tf.contrib.metrics``: streaming metrics; predictions come first."""

# ruff: noqa: F401  the names are what this module is for

import danlu_runtime.tf1.tf_slim_import  # isort: split

from tf_slim.metrics.classification import (
    accuracy,
    f1_score,
)
from tf_slim.metrics.histogram_ops import (
    auc_using_histogram,
)
from tf_slim.metrics.metric_ops import (
    aggregate_metric_map,
    aggregate_metrics,
    auc_with_confidence_intervals,
    cohen_kappa,
    count,
    precision_at_recall,
    precision_recall_at_equal_thresholds,
    recall_at_precision,
    sparse_recall_at_top_k,
    streaming_accuracy,
    streaming_auc,
    streaming_concat,
    streaming_covariance,
    streaming_curve_points,
    streaming_dynamic_auc,
    streaming_false_negative_rate,
    streaming_false_negative_rate_at_thresholds,
    streaming_false_negatives,
    streaming_false_negatives_at_thresholds,
    streaming_false_positive_rate,
    streaming_false_positive_rate_at_thresholds,
    streaming_false_positives,
    streaming_false_positives_at_thresholds,
    streaming_mean,
    streaming_mean_absolute_error,
    streaming_mean_cosine_distance,
    streaming_mean_iou,
    streaming_mean_relative_error,
    streaming_mean_squared_error,
    streaming_mean_tensor,
    streaming_pearson_correlation,
    streaming_percentage_less,
    streaming_precision,
    streaming_precision_at_thresholds,
    streaming_recall,
    streaming_recall_at_k,
    streaming_recall_at_thresholds,
    streaming_root_mean_squared_error,
    streaming_sensitivity_at_specificity,
    streaming_sparse_average_precision_at_k,
    streaming_sparse_average_precision_at_top_k,
    streaming_sparse_precision_at_k,
    streaming_sparse_precision_at_top_k,
    streaming_sparse_recall_at_k,
    streaming_specificity_at_sensitivity,
    streaming_true_negatives,
    streaming_true_negatives_at_thresholds,
    streaming_true_positives,
    streaming_true_positives_at_thresholds,
)

from danlu_runtime.tf1.contrib.metrics import (
    classification,
    confusion_matrix_ops,
    histogram_ops,
    metric_ops,
    set_ops,
)
from danlu_runtime.tf1.contrib.metrics.confusion_matrix_ops import confusion_matrix
from danlu_runtime.tf1.contrib.metrics.set_ops import (
    set_difference,
    set_intersection,
    set_size,
    set_union,
)
