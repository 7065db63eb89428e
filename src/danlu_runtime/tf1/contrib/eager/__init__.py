"""`tf.contrib.eager`: eager execution of 1.5 to 1.15."""

from danlu_runtime.tf1.contrib.eager import metrics
from danlu_runtime.tf1.contrib.eager.differentiation import (
    gradients_function,
    implicit_gradients,
    implicit_value_and_gradients,
    value_and_gradients_function,
)
from danlu_runtime.tf1.contrib.eager.names import (
    Checkpoint,
    CheckpointableSaver,
    EagerVariableStore,
    GradientTape,
    Iterator,
    Saver,
    Variable,
    custom_gradient,
    defun,
    enable_eager_execution,
    executing_eagerly,
    function,
    in_eager_mode,
    in_graph_mode,
    list_devices,
    make_template,
    num_gpus,
    py_func,
    restore_variables_on_create,
    run,
)

__all__ = [
    "Checkpoint",
    "CheckpointableSaver",
    "EagerVariableStore",
    "GradientTape",
    "Iterator",
    "Saver",
    "Variable",
    "custom_gradient",
    "defun",
    "enable_eager_execution",
    "executing_eagerly",
    "function",
    "gradients_function",
    "implicit_gradients",
    "implicit_value_and_gradients",
    "in_eager_mode",
    "in_graph_mode",
    "list_devices",
    "make_template",
    "metrics",
    "num_gpus",
    "py_func",
    "restore_variables_on_create",
    "run",
    "value_and_gradients_function",
]

_KERAS = "Subclass tf.keras.Model."
_CALLBACKS = "Use tf.debugging.enable_check_numerics."
GONE = {
    "Network": _KERAS,
    "Sequential": "Use tf.keras.Sequential.",
    "save_network_checkpoint": "Use tfe.Checkpoint(model=model).save.",
    "restore_network_checkpoint": "Use tfe.Checkpoint(model=model).restore.",
    "add_execution_callback": _CALLBACKS,
    "clear_execution_callbacks": _CALLBACKS,
    "inf_callback": _CALLBACKS,
    "inf_nan_callback": _CALLBACKS,
    "nan_callback": _CALLBACKS,
    "seterr": _CALLBACKS,
    "SummaryWriter": "Use tf.contrib.summary.create_file_writer.",
}
