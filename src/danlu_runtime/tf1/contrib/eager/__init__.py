"""`tf.contrib.eager`: eager execution of 1.5 to 1.15."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.eager import backprop, context
from tensorflow.python.ops import variable_scope

from danlu_runtime.tf1.contrib.eager import metrics

# Names of `tf.contrib.eager` that live elsewhere today.


Checkpoint = tf.train.Checkpoint
EagerVariableStore = variable_scope.EagerVariableStore
GradientTape = tf.GradientTape
custom_gradient = tf.custom_gradient
enable_eager_execution = tf.enable_eager_execution
executing_eagerly = in_eager_mode = tf.executing_eagerly
make_template = tf.make_template
run = tf.app.run


class Variable(tf.Variable):
    """A variable that also works in eager execution."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        from tensorflow.python.ops.resource_variable_ops import ResourceVariable

        return ResourceVariable(*args, **kwargs)


def in_graph_mode() -> bool:
    """Return True if ops are put into a graph."""
    return not tf.executing_eagerly()


def list_devices() -> list[str]:
    """Return the names of the devices of this process."""
    context.ensure_initialized()
    return context.context().devices()


def num_gpus() -> int:
    """Return how many GPUs there are."""
    return context.context().num_gpus()


def defun(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    reduce_retracing: bool = False,
) -> Any:
    """Return a function compiled into a graph for each kind of arguments."""
    return tf.function(
        func,
        input_signature=input_signature,
        autograph=autograph,
        experimental_autograph_options=experimental_autograph_options,
        reduce_retracing=reduce_retracing,
    )


function = defun


def py_func(func: Any, inp: Any, Tout: Any, name: str | None = None) -> Any:
    """Return the result of a Python function on eager tensors."""
    return tf.py_function(func=func, inp=inp, Tout=Tout, name=name)


def Iterator(dataset: Any) -> Any:
    """Return an iterator over a data set; needs eager execution."""
    if not tf.executing_eagerly():
        raise RuntimeError(
            "tfe.Iterator needs eager execution: call tf.enable_eager_execution() first, or use "
            "dataset.make_one_shot_iterator()."
        )
    return iter(dataset)


class Saver:
    """Saves variables by name, in a graph and in eager execution."""

    def __init__(self, var_list: Any) -> None:
        if not tf.executing_eagerly():
            self._saver = tf.train.Saver(var_list=var_list)
            return
        named = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
        self._saver = tf.train.Saver(named)

    def save(self, file_prefix: str, global_step: Any = None) -> str:
        session = None if tf.executing_eagerly() else tf.get_default_session()
        return self._saver.save(session, file_prefix, global_step=global_step)

    def restore(self, file_prefix: str) -> None:
        session = None if tf.executing_eagerly() else tf.get_default_session()
        self._saver.restore(session, file_prefix)


class CheckpointableSaver:
    """Saves an object and what it holds."""

    def __init__(self, root_checkpointable: Any) -> None:
        self._checkpoint = tf.train.Checkpoint(root=root_checkpointable)

    def save(self, file_prefix: str, checkpoint_number: Any = None, session: Any = None) -> str:
        prefix = file_prefix if checkpoint_number is None else f"{file_prefix}-{checkpoint_number}"
        return self._checkpoint.write(prefix, session=session)

    def restore(self, save_path: str) -> Any:
        return self._checkpoint.restore(save_path)


def restore_variables_on_create(save_path: str, map_func: Any = None) -> Any:
    """Return a context in which new variables begin with their value of a checkpoint."""
    reader = tf.train.load_checkpoint(save_path)
    name_of = map_func or (lambda name: name)

    def creator(next_creator: Any, **kwargs: Any) -> Any:
        name = name_of(kwargs.get("name") or "")
        if reader.has_tensor(name):
            kwargs["initial_value"] = reader.get_tensor(name)
        return next_creator(**kwargs)

    return tf.variable_creator_scope(creator)


# Functions that return gradients, as `tf.contrib.eager` made them.


def gradients_function(f: Callable[..., Any], params: Any = None) -> Callable[..., Any]:
    """Return a function of the gradients of `f` by its arguments."""
    both = value_and_gradients_function(f, params)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def value_and_gradients_function(f: Callable[..., Any], params: Any = None) -> Callable[..., Any]:
    """Return a function of the value of `f` and its gradients by its arguments."""
    return backprop.val_and_grad_function(f, params)


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the gradients of `f` by the variables it uses."""
    both = implicit_value_and_gradients(f)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the value of `f` and (gradient, variable) pairs."""

    def both(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        with tf.GradientTape() as tape:
            value = f(*args, **kwargs)
            if value is None:
                raise ValueError("A function that returns None has no gradients; return a loss.")
        variables = list(tape.watched_variables())
        if not variables:
            raise ValueError("No trainable variables were used while the function was computed.")
        gradients = tape.gradient(value, variables)
        return value, list(zip(gradients, variables, strict=True))

    return both


_KERAS = "removed.keras_model"
_CALLBACKS = "tf.debugging.enable_check_numerics"
GONE = {
    "Network": _KERAS,
    "Sequential": "tf.keras.Sequential",
    "save_network_checkpoint": "tfe.Checkpoint(model=model).save",
    "restore_network_checkpoint": "tfe.Checkpoint(model=model).restore",
    "add_execution_callback": _CALLBACKS,
    "clear_execution_callbacks": _CALLBACKS,
    "inf_callback": _CALLBACKS,
    "inf_nan_callback": _CALLBACKS,
    "nan_callback": _CALLBACKS,
    "seterr": _CALLBACKS,
    "SummaryWriter": "tf.contrib.summary.create_file_writer",
}
