"""tf.contrib.cudnn_rnn: the layers, and the cells for models that were trained with them."""

from danlu_runtime.tf1.contrib.cudnn_rnn._cells import (
    CudnnCompatibleGRUCell,
    CudnnCompatibleLSTMCell,
)
from danlu_runtime.tf1.contrib.cudnn_rnn._layers import (
    CudnnGRU,
    CudnnLSTM,
    CudnnRNNRelu,
    CudnnRNNTanh,
)

__all__ = [
    "CudnnCompatibleGRUCell",
    "CudnnCompatibleLSTMCell",
    "CudnnGRU",
    "CudnnLSTM",
    "CudnnRNNRelu",
    "CudnnRNNTanh",
]

_SAVED = "removed.cudnn_saveable"
GONE = {
    "CudnnGRUSaveable": _SAVED,
    "CudnnLSTMSaveable": _SAVED,
    "CudnnParamsFormatConverterLSTM": _SAVED,
    "CudnnRNNReluSaveable": _SAVED,
    "CudnnRNNTanhSaveable": _SAVED,
}
