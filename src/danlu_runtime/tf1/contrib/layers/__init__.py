"""``tf.contrib.layers``: layers, regularizers, initializers, summaries and feature columns."""

import danlu_runtime.tf1.tf_slim_import  # isort: split

import sys

from tf_slim.layers import (
    bucketization_op,
    initializers,
    normalization,
    optimizers,
    regularizers,
    rev_block_lib,
    sparse_ops,
    summaries,
    utils,
)
from tf_slim.layers.bucketization_op import bucketize
from tf_slim.layers.initializers import *
from tf_slim.layers.layers import *
from tf_slim.layers.layers import (
    DATA_FORMAT_NCDHW,
    DATA_FORMAT_NCHW,
    DATA_FORMAT_NDHWC,
    DATA_FORMAT_NHWC,
    _add_variable_to_collections,
    _build_variable_getter,
    _inner_flatten,
    _model_variable_getter,
    dropout,
    fully_connected,
    poincare_normalize,
)
from tf_slim.layers.normalization import *
from tf_slim.layers.optimizers import (
    OPTIMIZER_CLS_NAMES,
    OPTIMIZER_SUMMARIES,
    adaptive_clipping_fn,
    optimize_loss,
)
from tf_slim.layers.regularizers import *
from tf_slim.layers.rev_block_lib import *
from tf_slim.layers.summaries import *

from danlu_runtime.tf1.contrib.layers import (
    embedding_ops,
    encoders,
    feature_column,
    feature_column_ops,
    sparse_feature_cross_op,
    target_column,
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
