"""tf.contrib: one module per submodule, written on what TensorFlow 2.21 and tf-slim still have.

``GONE`` names the submodules that cannot be had any more, with what to use instead.
"""

_FORESTS = "Use sklearn.ensemble.RandomForestClassifier or RandomForestRegressor."
GONE: dict[str, str] = {
    "batching": "Use tf.data.Dataset.batch, or TensorFlow Serving for requests.",
    "bayesflow": "Use tf.contrib.distributions, or TensorFlow Probability.",
    "bigtable": "Copy the data first and read it with tf.data.",
    "boosted_trees": "Use sklearn.ensemble.HistGradientBoostingClassifier, or xgboost.",
    "coder": "Use TensorFlow Compression.",
    "constrained_optimization": "Add the constraints to the loss, with weights of your own.",
    "ffmpeg": "Decode with the ffmpeg program, or tf.audio.decode_wav.",
    "gan": "Write the two losses and optimizers yourself, or use TensorFlow GAN.",
    "hadoop": "Copy the data first and read it with tf.data.",
    "ignite": "Copy the data first and read it with tf.data.",
    "input_pipeline": "Use tf.data.",
    "integrate": "Use scipy.integrate.solve_ivp in tf.py_func.",
    "kafka": "Copy the data first and read it with tf.data.",
    "kernel_methods": "Use sklearn.kernel_approximation.RBFSampler before the model.",
    "kfac": "Use tf.train.AdamOptimizer.",
    "kinesis": "Copy the data first and read it with tf.data.",
    "labeled_tensor": "Use plain tensors.",
    "libsvm": "Use sklearn.datasets.load_svmlight_file.",
    "memory_stats": "Use tf.config.experimental.get_memory_info.",
    "meta_graph_transform": "Use tf.graph_util.remove_training_nodes.",
    "model_pruning": "Use the TensorFlow Model Optimization Toolkit.",
    "periodic_resample": "Use tf.depth_to_space.",
    "proto": "Use tf.io.decode_proto and tf.io.encode_proto.",
    "recurrent": "Use tf.nn.dynamic_rnn.",
    "reduce_slice_ops": "Use tf.segment_sum and its like.",
    "remote_fused_graph": "Use tf.lite.",
    "rpc": "Use tf.py_func.",
    "solvers": "Use tf.linalg.experimental.conjugate_gradient.",
    "specs": "Use tf.layers.",
    "stat_summarizer": "Use tf.profiler.",
    "tensor_forest": _FORESTS,
    "tensorrt": "Use tf.experimental.tensorrt on a machine with a GPU.",
    "text": "Use TensorFlow Text.",
    "timeseries": "Write the model with tf.nn.dynamic_rnn.",
}
