"""tf.contrib.tfprof.model_analyzer: today's tf.profiler under its old names."""

from typing import Any

import tensorflow.compat.v1 as tf

_builder = tf.profiler.ProfileOptionBuilder
TRAINABLE_VARS_PARAMS_STAT_OPTIONS = _builder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = _builder.float_operation()


def print_model_analysis(
    graph: tf.Graph,
    run_meta: Any = None,
    op_log: Any = None,
    tfprof_cmd: str = "scope",
    tfprof_options: Any = None,
) -> Any:
    """Print the analysis of a graph and return it as a protocol buffer."""
    options = dict(TRAINABLE_VARS_PARAMS_STAT_OPTIONS if tfprof_options is None else tfprof_options)
    return tf.profiler.profile(
        graph, run_meta=run_meta, op_log=op_log, cmd=tfprof_cmd, options=options
    )
