"""tf.contrib.rnn: recurrent cells, fused cells and stacks of both directions.

The cells of ``tf.nn.rnn_cell`` are the same classes here. Private names that public scripts import
from ``tensorflow.contrib.rnn.python.ops`` stand in the module of the same name.
"""

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.rnn import (
    _best_effort_input_batch_size as best_effort_input_batch_size,
)
from tensorflow.python.ops.rnn import _transpose_batch_time as transpose_batch_time
from tf_keras.src.layers.rnn.legacy_cells import LayerRNNCell

from danlu_runtime.tf1.contrib.rnn._gated_cells import (
    GLSTMCell,
    IndRNNCell,
    IndyGRUCell,
    IndyLSTMCell,
    IntersectionRNNCell,
    NASCell,
    PhasedLSTMCell,
    SRUCell,
    UGRNNCell,
)
from danlu_runtime.tf1.contrib.rnn._grid_cells import (
    BidirectionalGridLSTMCell,
    GridLSTMCell,
    TimeFreqLSTMCell,
)
from danlu_runtime.tf1.contrib.rnn._lstm_cells import (
    Conv1DLSTMCell,
    Conv2DLSTMCell,
    Conv3DLSTMCell,
    ConvLSTMCell,
    CoupledInputForgetGateLSTMCell,
    LayerNormBasicLSTMCell,
    LayerNormLSTMCell,
    WeightNormLSTMCell,
)
from danlu_runtime.tf1.contrib.rnn.core_rnn_cell import (
    EmbeddingWrapper,
    InputProjectionWrapper,
    OutputProjectionWrapper,
    _Linear,
    _linear,
)
from danlu_runtime.tf1.contrib.rnn.fused_rnn_cell import (
    FusedRNNCell,
    FusedRNNCellAdaptor,
    TimeReversedFusedRNN,
)
from danlu_runtime.tf1.contrib.rnn.gru_ops import GRUBlockCell, GRUBlockCellV2
from danlu_runtime.tf1.contrib.rnn.lstm_ops import (
    LSTMBlockCell,
    LSTMBlockFusedCell,
    LSTMBlockWrapper,
)
from danlu_runtime.tf1.contrib.rnn.rnn import (
    stack_bidirectional_dynamic_rnn,
    stack_bidirectional_rnn,
)
from danlu_runtime.tf1.contrib.rnn.rnn_cell import (
    AttentionCellWrapper,
    CompiledWrapper,
    HighwayWrapper,
)

BasicLSTMCell = tf.nn.rnn_cell.BasicLSTMCell
BasicRNNCell = tf.nn.rnn_cell.BasicRNNCell
DeviceWrapper = tf.nn.rnn_cell.DeviceWrapper
DropoutWrapper = tf.nn.rnn_cell.DropoutWrapper
GRUCell = tf.nn.rnn_cell.GRUCell
LSTMCell = tf.nn.rnn_cell.LSTMCell
LSTMStateTuple = tf.nn.rnn_cell.LSTMStateTuple
MultiRNNCell = tf.nn.rnn_cell.MultiRNNCell
ResidualWrapper = tf.nn.rnn_cell.ResidualWrapper
RNNCell = tf.nn.rnn_cell.RNNCell
static_bidirectional_rnn = tf.nn.static_bidirectional_rnn
static_rnn = tf.nn.static_rnn
static_state_saving_rnn = tf.nn.static_state_saving_rnn

_OWN_CELL = "removed.own_cell"
GONE = {
    "CFNCell": _OWN_CELL,
    "MinimalRNNCell": _OWN_CELL,
    "NTMCell": _OWN_CELL,
}
