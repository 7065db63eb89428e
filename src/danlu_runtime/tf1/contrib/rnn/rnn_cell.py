"""The cells under the module name they had: ``tensorflow.contrib.rnn.python.ops.rnn_cell``."""

from danlu_runtime.tf1.contrib.rnn.conv_cells import (
    Conv1DLSTMCell,
    Conv2DLSTMCell,
    Conv3DLSTMCell,
    ConvLSTMCell,
)
from danlu_runtime.tf1.contrib.rnn.core_rnn_cell import _Linear
from danlu_runtime.tf1.contrib.rnn.gated_cells import (
    GLSTMCell,
    IntersectionRNNCell,
    NASCell,
    PhasedLSTMCell,
    UGRNNCell,
)
from danlu_runtime.tf1.contrib.rnn.grid_cells import (
    BidirectionalGridLSTMCell,
    GridLSTMCell,
    TimeFreqLSTMCell,
)
from danlu_runtime.tf1.contrib.rnn.independent_cells import (
    IndRNNCell,
    IndyGRUCell,
    IndyLSTMCell,
    SRUCell,
)
from danlu_runtime.tf1.contrib.rnn.lstm_cells import (
    CoupledInputForgetGateLSTMCell,
    LayerNormBasicLSTMCell,
    LayerNormLSTMCell,
    WeightNormLSTMCell,
)
from danlu_runtime.tf1.contrib.rnn.wrappers import (
    AttentionCellWrapper,
    CompiledWrapper,
    HighwayWrapper,
)

__all__ = [
    "AttentionCellWrapper",
    "BidirectionalGridLSTMCell",
    "CompiledWrapper",
    "Conv1DLSTMCell",
    "Conv2DLSTMCell",
    "Conv3DLSTMCell",
    "ConvLSTMCell",
    "CoupledInputForgetGateLSTMCell",
    "GLSTMCell",
    "GridLSTMCell",
    "HighwayWrapper",
    "IndRNNCell",
    "IndyGRUCell",
    "IndyLSTMCell",
    "IntersectionRNNCell",
    "LayerNormBasicLSTMCell",
    "LayerNormLSTMCell",
    "NASCell",
    "PhasedLSTMCell",
    "SRUCell",
    "TimeFreqLSTMCell",
    "UGRNNCell",
    "WeightNormLSTMCell",
    "_Linear",
]
