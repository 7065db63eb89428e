"""``CuDNNLSTM`` and ``CuDNNGRU`` where there is no GPU: the same weights, the same numbers."""

from typing import Any

import tensorflow.compat.v1 as tf
from tf_keras.src import backend
from tf_keras.src.layers.rnn.cudnn_gru import CuDNNGRU
from tf_keras.src.layers.rnn.cudnn_lstm import CuDNNLSTM

from danlu_runtime import notes

Tensor = Any
Result = tuple[Tensor, list[Tensor]]


def run_without_gpu() -> None:
    """Let both layers compute with plain operations on a machine without a GPU."""
    CuDNNLSTM._process_batch = _either(CuDNNLSTM._process_batch, _lstm)
    CuDNNGRU._process_batch = _either(CuDNNGRU._process_batch, _gru)


def _either(on_gpu: Any, on_cpu: Any) -> Any:
    def _process_batch(self: Any, inputs: Tensor, initial_state: list[Tensor]) -> Result:
        if backend._get_available_gpus():
            return on_gpu(self, inputs, initial_state)  # type: ignore[no-any-return]
        name = type(self).__name__
        notes.note("mapped", f"{name} runs without cuDNN: this machine has no GPU")
        return on_cpu(self, inputs, initial_state)  # type: ignore[no-any-return]

    return _process_batch


def _lstm(layer: Any, inputs: Tensor, initial_state: list[Tensor]) -> Result:
    bias = layer.bias[: layer.units * 4] + layer.bias[layer.units * 4 :]

    def step(x: Tensor, states: list[Tensor]) -> Result:
        h, c = states[0], states[1]
        gates = tf.matmul(x, layer.kernel) + tf.matmul(h, layer.recurrent_kernel) + bias
        i, f, candidate, o = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(candidate)
        h = tf.sigmoid(o) * tf.tanh(c)
        return h, [h, c]

    return _run(layer, step, inputs, initial_state)


def _gru(layer: Any, inputs: Tensor, initial_state: list[Tensor]) -> Result:
    outer, inner = layer.bias[: layer.units * 3], layer.bias[layer.units * 3 :]

    def step(x: Tensor, states: list[Tensor]) -> Result:
        h = states[0]
        x_z, x_r, x_h = tf.split(tf.matmul(x, layer.kernel) + outer, 3, axis=1)
        h_z, h_r, h_h = tf.split(tf.matmul(h, layer.recurrent_kernel) + inner, 3, axis=1)
        update = tf.sigmoid(x_z + h_z)
        candidate = tf.tanh(x_h + tf.sigmoid(x_r + h_r) * h_h)
        h = update * h + (1 - update) * candidate
        return h, [h]

    return _run(layer, step, inputs, initial_state)


def _run(layer: Any, step: Any, inputs: Tensor, initial_state: list[Tensor]) -> Result:
    last, outputs, states = backend.rnn(
        step, inputs, list(initial_state), time_major=layer.time_major
    )
    return (outputs if layer.return_sequences else last), list(states)
