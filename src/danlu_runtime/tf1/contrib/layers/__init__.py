"""``tf.contrib.layers``: layers, regularizers, initializers, summaries and feature columns."""

# ruff: noqa: F401  the names are what this module is for

import danlu_runtime.tf1.tf_slim_import  # isort: split

import sys

from tf_slim.layers.bucketization_op import (
    bucketize,
)
from tf_slim.layers.initializers import (
    variance_scaling_initializer,
    xavier_initializer,
    xavier_initializer_conv2d,
)
from tf_slim.layers.layers import (
    DATA_FORMAT_NCDHW,
    DATA_FORMAT_NCHW,
    DATA_FORMAT_NDHWC,
    DATA_FORMAT_NHWC,
    GDN,
    _add_variable_to_collections,
    _build_variable_getter,
    _inner_flatten,
    _model_variable_getter,
    avg_pool2d,
    avg_pool3d,
    batch_norm,
    bias_add,
    conv1d,
    conv2d,
    conv2d_in_plane,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    convolution,
    convolution1d,
    convolution2d,
    convolution2d_in_plane,
    convolution2d_transpose,
    convolution3d,
    convolution3d_transpose,
    dense_to_sparse,
    dropout,
    elu,
    flatten,
    fully_connected,
    gdn,
    images_to_sequence,
    layer_norm,
    legacy_fully_connected,
    legacy_linear,
    legacy_relu,
    linear,
    max_pool2d,
    max_pool3d,
    maxout,
    one_hot_encoding,
    poincare_normalize,
    pool,
    relu,
    relu6,
    repeat,
    scale_gradient,
    separable_conv2d,
    separable_convolution2d,
    sequence_to_images,
    softmax,
    spatial_softmax,
    stack,
    unit_norm,
)
from tf_slim.layers.normalization import (
    group_norm,
    instance_norm,
)
from tf_slim.layers.optimizers import (
    OPTIMIZER_CLS_NAMES,
    OPTIMIZER_SUMMARIES,
    adaptive_clipping_fn,
    optimize_loss,
)
from tf_slim.layers.regularizers import (
    apply_regularization,
    l1_l2_regularizer,
    l1_regularizer,
    l2_regularizer,
    sum_regularizer,
)
from tf_slim.layers.rev_block_lib import (
    RevBlock,
    recompute_grad,
    rev_block,
)
from tf_slim.layers.summaries import (
    summarize_activation,
    summarize_activations,
    summarize_biases,
    summarize_collection,
    summarize_tensor,
    summarize_tensors,
    summarize_variables,
    summarize_weights,
)

from danlu_runtime.tf1.contrib.layers import (
    bucketization_op,
    embedding_ops,
    encoders,
    feature_column,
    feature_column_ops,
    initializers,
    normalization,
    optimizers,
    regularizers,
    rev_block_lib,
    sparse_feature_cross_op,
    sparse_ops,
    summaries,
    target_column,
    utils,
)
from danlu_runtime.tf1.contrib.layers.embedding_ops import (
    embedding_lookup_sparse_with_distributed_aggregation,
    embedding_lookup_unique,
    safe_embedding_lookup_sparse,
    scattered_embedding_lookup,
    scattered_embedding_lookup_sparse,
)
from danlu_runtime.tf1.contrib.layers.encoders import (
    bow_encoder,
    embed_sequence,
)
from danlu_runtime.tf1.contrib.layers.feature_column import (
    bucketized_column,
    create_feature_spec_for_parsing,
    crossed_column,
    embedding_column,
    make_place_holder_tensors_for_base_features,
    one_hot_column,
    real_valued_column,
    scattered_embedding_column,
    shared_embedding_columns,
    sparse_column_with_hash_bucket,
    sparse_column_with_integerized_feature,
    sparse_column_with_keys,
    sparse_column_with_vocabulary_file,
    weighted_sparse_column,
)
from danlu_runtime.tf1.contrib.layers.feature_column_ops import (
    check_feature_columns,
    infer_real_valued_columns,
    input_from_feature_columns,
    joint_weighted_sum_from_feature_columns,
    parse_feature_columns_from_examples,
    parse_feature_columns_from_sequence_examples,
    sequence_input_from_feature_columns,
    transform_features,
    weighted_sum_from_feature_columns,
)
from danlu_runtime.tf1.contrib.layers.sparse_feature_cross_op import (
    SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY,
    sparse_feature_cross,
)
from danlu_runtime.tf1.contrib.layers.target_column import (
    ProblemType,
    binary_svm_target,
    get_default_binary_metrics_for_eval,
    multi_class_target,
    regression_target,
)

# Scripts write both tf.contrib.layers.python.layers and ….python.layers.layers for these names.
layers = sys.modules[__name__]
