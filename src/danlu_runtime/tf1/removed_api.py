"""Restores names that TensorFlow 1.15 had in its internal modules.

Scripts of that time, and tf_slim 1.1 itself, use names of ``tensorflow.python``. A name that has
only moved is added to its old module. The public API is not changed.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

Moves = dict[str, dict[str, Iterable[str]]]

# Old module -> module of 2.21 with the names -> names; all below tensorflow.python.
_MOVED: Moves = {
    "ops.array_ops": {"ops.array_ops_stack": ("stack", "unstack")},
    "ops.control_flow_ops": {
        "ops.control_flow_assert": ("Assert",),
        "ops.cond": ("cond", "cond_for_tf_v2"),
        "ops.while_loop": ("while_loop", "while_loop_v2"),
        "ops.control_flow_case": ("case", "case_v2"),
        "ops.control_flow_switch_case": ("switch_case",),
    },
    "ops.custom_gradient": {"ops.handle_data_util": ("copy_handle_data",)},
    "ops.gradients_util": {"eager.backprop_util": ("IsTrainable",)},
    "ops.math_ops": {"ops.bincount_ops": ("bincount_v1",)},
    "ops.nn_impl": {
        "ops.nn_impl_distribute": ("compute_average_loss", "scale_regularization_loss"),
    },
    "ops.random_ops": {"ops.random_crop_ops": ("random_crop",)},
    "ops.variable_scope": {
        "ops.resource_variables_toggle": (
            "enable_resource_variables",
            "resource_variables_enabled",
            "disable_resource_variables",
        ),
        "ops.ref_variable": ("default_variable_creator",),
    },
    "ops.variables": {
        "ops.variable_v1": ("VariableV1", "is_variable_initialized"),
        "ops.ref_variable": ("RefVariable", "default_variable_creator"),
    },
    "framework.graph_util": {"framework.convert_to_constants": ("convert_variables_to_constants",)},
    "framework.graph_util_impl": {
        "framework.convert_to_constants": ("convert_variables_to_constants",),
    },
    "framework.ops": {
        "framework.tensor": ("Tensor", "enable_tensor_equality", "disable_tensor_equality"),
        "framework.stack": ("default_session",),
        "framework.indexed_slices": (
            "IndexedSlices",
            "IndexedSlicesValue",
            "convert_to_tensor_or_indexed_slices",
            "convert_n_to_tensor_or_indexed_slices",
            "internal_convert_to_tensor_or_indexed_slices",
            "internal_convert_n_to_tensor_or_indexed_slices",
        ),
        "framework.tensor_conversion": ("convert_to_tensor_v2",),
        "framework.tensor_conversion_registry": ("register_tensor_conversion_function",),
    },
    "framework.tensor_util": {"ops.shape_util": ("shape_tensor", "maybe_set_static_shape")},
    "pywrap_tensorflow": {"training.py_checkpoint_reader": ("NewCheckpointReader",)},
    "saved_model.utils_impl": {
        "saved_model.path_helpers": (
            "get_or_create_variables_dir",
            "get_variables_dir",
            "get_variables_path",
            "get_or_create_assets_dir",
            "get_assets_dir",
        ),
    },
}


def restore() -> None:
    """Restore all names after TensorFlow has been loaded; a second call is harmless."""
    _put_back_moved_names()
    _name_variables_as_before()
    _name_sequences_as_before()
    _name_shapes_as_before()
    _find_batch_normalization()
    _take_initialisers_as_before()


def _put_back_moved_names() -> None:
    """Add moved names to the modules that TensorFlow 2.21 split; existing names are kept."""
    for old, sources in _MOVED.items():
        module = _internal(old)
        for source, names in sources.items():
            for name in names:
                if not hasattr(module, name):
                    setattr(module, name, getattr(_internal(source), name))


def _name_variables_as_before() -> None:
    """Restore ``variable_scope.variable``, which was VariableV1; tf_slim 1.1 calls it so."""
    scope = _internal("ops.variable_scope")
    if not hasattr(scope, "variable"):
        scope.variable = _internal("ops.variable_v1").VariableV1


def _name_sequences_as_before() -> None:
    """Restore ``nest.is_sequence``, renamed ``nest.is_nested`` in 2.5 and removed in 2.13."""
    for name in ("util.nest", "data.util.nest"):
        nest = _internal(name)
        if not hasattr(nest, "is_sequence"):
            nest.is_sequence = nest.is_nested


def _name_shapes_as_before() -> None:
    """Restore ``tensor_shape.scalar`` and similar functions, which TensorFlow 2.3 removed."""
    shapes = _internal("framework.tensor_shape")
    makers = {
        "scalar": lambda: shapes.TensorShape([]),
        "vector": lambda length: shapes.TensorShape([length]),
        "matrix": lambda rows, columns: shapes.TensorShape([rows, columns]),
    }
    for name, make in makers.items():
        if not hasattr(shapes, name):
            setattr(shapes, name, make)


def _find_batch_normalization() -> None:
    """Set the module that TensorFlow 2.21 expects in ``tf_keras.legacy_tf_layers``.

    tf-keras 2.21 has it in ``src``.
    """
    layers = _internal("layers.normalization")
    layers.normalization = import_module("tf_keras.src.legacy_tf_layers.normalization")


def _take_initialisers_as_before() -> None:
    """Restore a method that TensorFlow 1.13 renamed, for exporters based on SavedModelBuilder."""
    builder = _internal("saved_model.builder_impl")._SavedModelBuilder
    constants = _internal("saved_model.constants")

    def add(self: Any, legacy_init_op: Any = None) -> None:
        if legacy_init_op is not None:
            graph = _internal("framework.ops").get_default_graph()
            graph.add_to_collection(constants.LEGACY_INIT_OP_KEY, legacy_init_op)

    if not hasattr(builder, "_maybe_add_legacy_init_op"):
        builder._maybe_add_legacy_init_op = add


def _internal(name: str) -> Any:
    return import_module(f"tensorflow.python.{name}")


_CELLS = (
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
)


def restore_rnn() -> None:
    """Restore the names of ``rnn_cell_impl`` after TensorFlow has been loaded.

    TensorFlow 2.21 keeps an outdated copy of the cells there. Their classes are not those of
    ``tf.nn.rnn_cell``: an ``LSTMStateTuple`` of one does not fit a cell of the other. The private
    linear map was removed. A second call is harmless.
    """
    private: Any = import_module("tensorflow.python.ops.rnn_cell_impl")
    public = import_module("tensorflow.compat.v1").nn.rnn_cell
    for name in _CELLS:
        setattr(private, name, getattr(public, name))
    legacy = import_module("tf_keras.src.layers.rnn.legacy_cells")
    private.LayerRNNCell = legacy.LayerRNNCell
    private._like_rnncell = _like_rnncell
    linear = import_module("danlu_runtime.tf1.contrib.rnn.core_rnn_cell")
    private._linear = linear._linear
    private._Linear = linear._Linear


def _like_rnncell(cell: Any) -> bool:
    """Return True if an object can serve as a cell; TensorFlow 1.9 made this an assertion."""
    private = import_module("tensorflow.python.ops.rnn_cell_impl")
    try:
        private.assert_like_rnncell("cell", cell)
    except TypeError:
        return False
    return True


def accept_old_calls() -> None:
    _accept_any_input_shape()
    _give_v1_optimizers_back()


def _accept_any_input_shape() -> None:
    """Disable the check of input shapes.

    TensorFlow 1 accepted (None, 28, 28) for a model of 784 inputs that reshapes itself.
    """
    from tf_keras.src.engine.functional import Functional

    def nothing(self: Any) -> None:
        return None

    def ignore(self: Any, value: Any) -> None:
        """Ignore the value that the constructor sets; it is never read."""

    Functional.input_spec = property(nothing, ignore)


def _give_v1_optimizers_back() -> None:
    """Restore ``optimizers.experimental``, used by ``model_to_estimator``.

    The function is that of tensorflow-estimator 2.15.
    """
    from tf_keras.api._v1.keras import optimizers
    from tf_keras.src.optimizers import optimizer

    if not hasattr(optimizers, "experimental"):
        optimizers.experimental = type("experimental", (), {"Optimizer": optimizer.Optimizer})
