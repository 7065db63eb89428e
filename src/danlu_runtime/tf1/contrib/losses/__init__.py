"""``tf.contrib.losses``: predictions come first, and every loss joins the graph's losses."""

# ruff: noqa: F401  the names are what this module is for

import danlu_runtime.tf1.tf_slim_import  # isort: split

from tf_slim.losses.loss_ops import (
    absolute_difference,
    add_loss,
    compute_weighted_loss,
    cosine_distance,
    get_losses,
    get_regularization_losses,
    get_total_loss,
    hinge_loss,
    log_loss,
    mean_pairwise_squared_error,
    mean_squared_error,
    sigmoid_cross_entropy,
    softmax_cross_entropy,
    sparse_softmax_cross_entropy,
)

from danlu_runtime.tf1.contrib.losses import loss_ops, metric_learning
