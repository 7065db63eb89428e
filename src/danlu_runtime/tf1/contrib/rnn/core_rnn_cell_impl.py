"""The name that TensorFlow 1.0 and 1.1 had for the cells and their linear map."""

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.rnn.core_rnn_cell import (
    EmbeddingWrapper,
    InputProjectionWrapper,
    OutputProjectionWrapper,
    _Linear,
    _linear,
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

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "EmbeddingWrapper",
    "GRUCell",
    "InputProjectionWrapper",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "OutputProjectionWrapper",
    "RNNCell",
    "ResidualWrapper",
    "_Linear",
    "_linear",
]
