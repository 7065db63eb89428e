"""tf.contrib: one module per submodule, written on what TensorFlow 2.21 and tf-slim still have.

``GONE`` names the submodules that cannot be had any more, with what to use instead.
"""

_FORESTS = "removed.forests"
GONE: dict[str, str] = {
    "batching": "removed.batching",
    "bayesflow": "removed.bayesflow",
    "bigtable": "removed.copy_data",
    "boosted_trees": "removed.boosting",
    "coder": "TensorFlow Compression",
    "constrained_optimization": "removed.constraints",
    "ffmpeg": "removed.ffmpeg",
    "gan": "removed.gan",
    "hadoop": "removed.copy_data",
    "ignite": "removed.copy_data",
    "input_pipeline": "tf.data",
    "integrate": "removed.integrate",
    "kafka": "removed.copy_data",
    "kernel_methods": "removed.kernel_methods",
    "kfac": "tf.train.AdamOptimizer",
    "kinesis": "removed.copy_data",
    "labeled_tensor": "removed.plain_tensors",
    "libsvm": "sklearn.datasets.load_svmlight_file",
    "memory_stats": "tf.config.experimental.get_memory_info",
    "meta_graph_transform": "tf.graph_util.remove_training_nodes",
    "model_pruning": "removed.pruning",
    "periodic_resample": "tf.depth_to_space",
    "proto": "removed.proto",
    "recurrent": "tf.nn.dynamic_rnn",
    "reduce_slice_ops": "removed.segments",
    "remote_fused_graph": "tf.lite",
    "rpc": "tf.py_func",
    "solvers": "tf.linalg.experimental.conjugate_gradient",
    "specs": "tf.layers",
    "stat_summarizer": "tf.profiler",
    "tensor_forest": _FORESTS,
    "tensorrt": "removed.tensorrt",
    "text": "TensorFlow Text",
    "timeseries": "removed.timeseries",
}
