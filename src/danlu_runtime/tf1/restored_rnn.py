"""Puts back what ``tensorflow.python.ops.rnn_cell_impl`` had in TensorFlow 1.

TensorFlow 2.21 keeps a stale copy of the cells there, of other classes than ``tf.nn.rnn_cell``: an
``LSTMStateTuple`` of the one does not fit a cell of the other. The private linear map is gone.
"""

from importlib import import_module
from typing import Any

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


def restore() -> None:
    """Put everything back; called once TensorFlow has been loaded. Harmless a second time."""
    private = import_module("tensorflow.python.ops.rnn_cell_impl")
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
    """Say whether something can serve as a cell; TensorFlow 1.9 replaced this by an assertion."""
    private = import_module("tensorflow.python.ops.rnn_cell_impl")
    try:
        private.assert_like_rnncell("cell", cell)
    except TypeError:
        return False
    return True
