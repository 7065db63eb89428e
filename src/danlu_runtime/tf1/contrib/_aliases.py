"""Modules of ``tf.contrib`` that hold nothing of their own: their names are elsewhere today.

Keys are paths below ``tensorflow.contrib``. ``MODULES`` has modules that exist as a whole, with the
private names that scripts use too. ``NAMES`` has the other modules, name by name. ``GONE`` has the
removed names of both, each with the key of a message about the replacement, or with the name to use
instead. ``SUBMODULES`` has the modules that
are names of another module, as in ``from tensorflow.contrib.learn import *``.

The first part of a place selects where the rest is found: ``tf`` is ``tensorflow.compat.v1``,
``estimator`` is the package of ``tf.estimator``, and ``contrib`` is this package. Any other place
is a module or a name of a module as Python imports it.
"""


def _same(place: str, *names: str) -> dict[str, str]:
    """Return places of names that are unchanged."""
    return {name: f"{place}.{name}" for name in names}


MODULES: dict[str, str] = {
    "framework.variables": "tf_slim.ops.variables",
    "layers.bucketization_op": "tf_slim.layers.bucketization_op",
    "layers.initializers": "tf_slim.layers.initializers",
    "layers.normalization": "tf_slim.layers.normalization",
    "layers.optimizers": "tf_slim.layers.optimizers",
    "layers.regularizers": "tf_slim.layers.regularizers",
    "layers.rev_block_lib": "tf_slim.layers.rev_block_lib",
    "layers.sparse_ops": "tf_slim.layers.sparse_ops",
    "layers.summaries": "tf_slim.layers.summaries",
    "layers.utils": "tf_slim.layers.utils",
    "learn.estimator": "contrib.learn.estimators.estimator",
    "learn.io": "contrib.learn.learn_io",
    "losses.loss_ops": "tf_slim.losses.loss_ops",
    "losses.metric_learning": "tf_slim.losses.metric_learning",
    "metrics.classification": "tf_slim.metrics.classification",
    "metrics.histogram_ops": "tf_slim.metrics.histogram_ops",
    "metrics.metric_ops": "tf_slim.metrics.metric_ops",
    "session_bundle.gc": "contrib.learn.utils.gc",
    "slim.data_decoder": "tf_slim.data.data_decoder",
    "slim.data_provider": "tf_slim.data.data_provider",
    "slim.dataset": "tf_slim.data.dataset",
    "slim.dataset_data_provider": "tf_slim.data.dataset_data_provider",
    "slim.evaluation": "tf_slim.evaluation",
    "slim.learning": "tf_slim.learning",
    "slim.losses": "contrib.losses",
    "slim.model_analyzer": "tf_slim.model_analyzer",
    "slim.nets.alexnet": "tf_slim.nets.alexnet",
    "slim.nets.inception": "tf_slim.nets.inception",
    "slim.nets.inception_v1": "tf_slim.nets.inception_v1",
    "slim.nets.inception_v2": "tf_slim.nets.inception_v2",
    "slim.nets.inception_v3": "tf_slim.nets.inception_v3",
    "slim.nets.overfeat": "tf_slim.nets.overfeat",
    "slim.nets.resnet_utils": "tf_slim.nets.resnet_utils",
    "slim.nets.vgg": "tf_slim.nets.vgg",
    "slim.parallel_reader": "tf_slim.data.parallel_reader",
    "slim.prefetch_queue": "tf_slim.data.prefetch_queue",
    "slim.queues": "tf_slim.queues",
    "slim.summaries": "tf_slim.summaries",
    "slim.tfexample_decoder": "tf_slim.data.tfexample_decoder",
    "training.evaluation": "tf_slim.training.evaluation",
}

NAMES: dict[str, dict[str, str]] = {
    "all_reduce": _same(
        "tensorflow.python.distribute.v1.all_reduce",
        "build_nccl_all_reduce",
        "build_nccl_then_recursive_hd",
        "build_nccl_then_ring",
        "build_nccl_then_shuffle",
        "build_recursive_hd_all_reduce",
        "build_ring_all_reduce",
        "build_shuffle_all_reduce",
        "build_shuffle_then_ring",
        "build_shuffle_then_shuffle",
    ),
    "autograph": {
        **_same("tensorflow.python.autograph.impl.api", "convert", "do_not_convert"),
        **_same("tf.autograph", "set_verbosity", "to_code", "to_graph", "trace"),
    },
    "checkpoint": {
        **_same("tf.train", "Checkpoint", "CheckpointManager"),
        **_same("tensorflow.python.trackable.data_structures", "List", "Mapping", "NoDependency"),
    },
    "cluster_resolver": {
        **_same(
            "tf.distribute.cluster_resolver",
            "ClusterResolver",
            "GCEClusterResolver",
            "KubernetesClusterResolver",
            "SimpleClusterResolver",
            "SlurmClusterResolver",
            "TFConfigClusterResolver",
        ),
        "UnionClusterResolver": "tf.distribute.cluster_resolver.UnionResolver",
    },
    "compiler": {},
    "compiler.jit": {"experimental_jit_scope": "tf.xla.experimental.jit_scope"},
    "compiler.xla": _same("tensorflow.python.compiler.xla.xla", "compile"),
    "factorization": {
        **_same(
            "tensorflow.python.ops.clustering_ops",
            "COSINE_DISTANCE",
            "KMEANS_PLUS_PLUS_INIT",
            "KMeans",
            "RANDOM_INIT",
            "SQUARED_EUCLIDEAN_DISTANCE",
        ),
        **_same("estimator.canned.kmeans", "KMeansClustering"),
    },
    "hooks": _same("tf.train", "ProfilerHook"),
    "learn.evaluable": _same("contrib.learn.trainable", "Evaluable"),
    "linalg": _same(
        "tf.linalg",
        "LinearOperator",
        "LinearOperatorBlockDiag",
        "LinearOperatorCirculant",
        "LinearOperatorCirculant2D",
        "LinearOperatorCirculant3D",
        "LinearOperatorComposition",
        "LinearOperatorDiag",
        "LinearOperatorFullMatrix",
        "LinearOperatorIdentity",
        "LinearOperatorKronecker",
        "LinearOperatorLowRankUpdate",
        "LinearOperatorLowerTriangular",
        "LinearOperatorScaledIdentity",
        "LinearOperatorToeplitz",
        "LinearOperatorZeros",
    ),
    "lite": _same(
        "tf.lite",
        "Interpreter",
        "OpHint",
        "OpsSet",
        "Optimize",
        "RepresentativeDataset",
        "TFLiteConverter",
        "TargetSpec",
        "TocoConverter",
        "constants",
        "toco_convert",
    ),
    "losses": _same(
        "tf_slim.losses.loss_ops",
        "absolute_difference",
        "add_loss",
        "compute_weighted_loss",
        "cosine_distance",
        "get_losses",
        "get_regularization_losses",
        "get_total_loss",
        "hinge_loss",
        "log_loss",
        "mean_pairwise_squared_error",
        "mean_squared_error",
        "sigmoid_cross_entropy",
        "softmax_cross_entropy",
        "sparse_softmax_cross_entropy",
    ),
    "metrics.set_ops": _same(
        "tensorflow.python.ops.sets_impl",
        "set_difference",
        "set_intersection",
        "set_size",
        "set_union",
    ),
    # The operations need GPUs, as they always did.
    "nccl": _same(
        "tensorflow.python.ops.nccl_ops",
        "all_max",
        "all_min",
        "all_prod",
        "all_sum",
        "broadcast",
        "reduce_sum",
    ),
    "quantize": {},
    "rnn.core_rnn_cell_impl": {  # of TensorFlow 1.0 and 1.1
        **_same(
            "tf.nn.rnn_cell",
            "BasicLSTMCell",
            "BasicRNNCell",
            "DeviceWrapper",
            "DropoutWrapper",
            "GRUCell",
            "LSTMCell",
            "LSTMStateTuple",
            "MultiRNNCell",
            "RNNCell",
            "ResidualWrapper",
        ),
        **_same(
            "contrib.rnn.core_rnn_cell",
            "EmbeddingWrapper",
            "InputProjectionWrapper",
            "OutputProjectionWrapper",
            "_Linear",
            "_linear",
        ),
    },
    "signal": _same(
        "tf.signal",
        "frame",
        "hamming_window",
        "hann_window",
        "inverse_stft",
        "inverse_stft_window_fn",
        "linear_to_mel_weight_matrix",
        "mfccs_from_log_mel_spectrograms",
        "overlap_and_add",
        "stft",
    ),
    "staging": _same("tensorflow.python.ops.data_flow_ops", "StagingArea"),
    "stateless": {
        "stateless_multinomial": "tf.random.stateless_multinomial",
        "stateless_random_normal": "tf.random.stateless_normal",
        "stateless_random_uniform": "tf.random.stateless_uniform",
        "stateless_truncated_normal": "tf.random.stateless_truncated_normal",
    },
    # In a graph the summaries are in all_summary_ops(): run them with the step, after the writer
    # was initialized. They are recorded within always_record_summaries and similar functions.
    "summary": {
        **_same(
            "tensorflow.python.ops.summary_ops_v2",
            "SummaryWriter",
            "always_record_summaries",
            "audio",
            "create_file_writer",
            "create_summary_file_writer",
            "eval_dir",
            "generic",
            "histogram",
            "image",
            "import_event",
            "initialize",
            "never_record_summaries",
            "record_summaries_every_n_global_steps",
            "scalar",
            "summary_writer_initializer_op",
        ),
        "all_summary_ops": "tensorflow.python.ops.summary_ops_v2.all_v2_summary_ops",
        "flush": "tensorflow.python.ops.summary_ops_v2.legacy_raw_flush",
        "graph": "tensorflow.python.ops.summary_ops_v2.graph_v1",
        "should_record_summaries": (
            "tensorflow.python.ops.summary_ops_v2._legacy_contrib_should_record_summaries"
        ),
    },
    "tensorboard": {},
    "tensorboard.plugins": {},
    # TensorBoard's own function still accepts the tf.summary.FileWriter of old scripts.
    "tensorboard.plugins.projector": _same(
        "tensorboard.plugins.projector",
        "EmbeddingInfo",
        "ProjectorConfig",
        "SpriteMetadata",
        "visualize_embeddings",
    ),
    "training.feeding_queue_runner": {
        "FeedingQueueRunner": ("estimator.inputs.queues.feeding_queue_runner._FeedingQueueRunner"),
    },
    "util": {
        "constant_value": "tf.get_static_value",
        "make_ndarray": "tf.make_ndarray",
        "make_tensor_proto": "tf.make_tensor_proto",
        **_same(
            "tensorflow.python.framework.meta_graph",
            "ops_used_by_graph_def",
            "stripped_op_list_for_graph",
        ),
    },
}

_AFTER_TRAINING = "removed.quantize"
_MIXTURE = "sklearn.mixture.GaussianMixture"
_WALS = "removed.wals"
GONE: dict[str, dict[str, str]] = {
    "cluster_resolver": {
        "TPUClusterResolver": "removed.use_tpu",
    },
    "compiler.xla": {"estimator_model_fn": "removed.xla_model_fn"},
    "factorization": {
        "WALSMatrixFactorization": _WALS,
        "WALSModel": _WALS,
        "GMM": _MIXTURE,
        "GmmAlgorithm": _MIXTURE,
        "gmm": _MIXTURE,
    },
    "quantize": {
        "create_training_graph": _AFTER_TRAINING,
        "create_eval_graph": _AFTER_TRAINING,
        "experimental_create_training_graph": _AFTER_TRAINING,
        "experimental_create_eval_graph": _AFTER_TRAINING,
    },
    "summary": {
        "create_db_writer": "removed.db_writer",
    },
}

_LAYERS = (
    "bucketization_op embedding_ops encoders feature_column feature_column_ops initializers layers "
    "normalization optimizers regularizers rev_block_lib sparse_feature_cross_op sparse_ops "
    "summaries target_column utils"
)
SUBMODULES: dict[str, list[str]] = {
    path: names.split()
    for path, names in {
        "compiler": "jit xla",
        "distributions": "bijectors",
        "eager": "metrics",
        "framework": (
            "checkpoint_ops checkpoint_utils graph_util nest script_ops tensor_util variables"
        ),
        "layers": _LAYERS,
        "learn": (
            "datasets estimator evaluable export_strategy io learn_runner metric_spec monitors "
            "preprocessing trainable utils"
        ),
        "learn.datasets": "base mnist",
        "learn.utils": "export gc input_fn_utils saved_model_export_utils",
        "losses": "loss_ops metric_learning",
        "metrics": "classification confusion_matrix_ops histogram_ops metric_ops set_ops",
        "session_bundle": "constants exporter gc manifest_pb2 session_bundle",
        "slim": (
            f"{_LAYERS} data_decoder data_provider dataset dataset_data_provider evaluation "
            "learning losses metrics model_analyzer parallel_reader prefetch_queue queues "
            "tfexample_decoder"
        ),
        "slim.nets": (
            "alexnet inception inception_v1 inception_v2 inception_v3 overfeat resnet_utils "
            "resnet_v1 resnet_v2 vgg"
        ),
        "slim.nets.resnet_v1": "resnet_utils",
        "slim.nets.resnet_v2": "resnet_utils",
        "tensorboard": "plugins",
        "tensorboard.plugins": "projector",
        "tfprof": "model_analyzer",
        "tpu": "async_checkpoint bfloat16 tpu_config tpu_optimizer",
        "training": (
            "bucket_ops device_setter evaluation hparam hparam_pb2 resample sampling_ops "
            "sequence_queueing_state_saver training tuner"
        ),
        "training.hparam": "hparam_pb2",
    }.items()
}
