"""tf.contrib.compiler.xla: a computation compiled as one program."""

from tensorflow.python.compiler.xla.xla import compile  # noqa: F401

GONE = {"estimator_model_fn": "Call xla.compile on the computation inside model_fn."}
