"""The decoder that samples from a cell with the help of a helper."""

import collections
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.rnn_cell_impl import assert_like_rnncell

from danlu_runtime.tf1.contrib.seq2seq.decoder import Decoder
from danlu_runtime.tf1.contrib.seq2seq.helper import Helper


class BasicDecoderOutput(collections.namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))):
    """What one step, or a whole decoding, gives."""


class BasicDecoder(Decoder):
    """Runs a cell; the helper chooses a sample of each output and the next input."""

    def __init__(
        self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None
    ) -> None:
        assert_like_rnncell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        check_layer("output_layer", output_layer)
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self) -> Any:
        return self._helper.batch_size

    @property
    def output_size(self) -> BasicDecoderOutput:
        return BasicDecoderOutput(
            rnn_output=sizes_behind(self._output_layer, self._cell.output_size),
            sample_id=self._helper.sample_ids_shape,
        )

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        dtype = tf.nest.flatten(self._initial_state)[0].dtype
        sizes = sizes_behind(self._output_layer, self._cell.output_size)
        return BasicDecoderOutput(
            tf.nest.map_structure(lambda _: dtype, sizes), self._helper.sample_ids_dtype
        )

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        return (*self._helper.initialize(), self._initial_state)

    def step(
        self, time: tf.Tensor, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        with tf.name_scope(name, "BasicDecoderStep"):
            outputs, cell_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            sample_ids = self._helper.sample(time=time, outputs=outputs, state=cell_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=cell_state, sample_ids=sample_ids
            )
        return BasicDecoderOutput(outputs, sample_ids), next_state, next_inputs, finished


def check_layer(name: str, layer: Any) -> None:
    """Refuse what is no layer; None is none."""
    if layer is not None and not (callable(layer) and hasattr(layer, "compute_output_shape")):
        raise TypeError(f"{name} must be a Layer, received: {type(layer)}")


def sizes_behind(layer: Any, sizes: Any) -> Any:
    """Return the sizes of a cell's outputs after a layer, or as they are without one."""
    if layer is None:
        return sizes
    shapes = tf.nest.map_structure(lambda size: tf.TensorShape([None]).concatenate(size), sizes)
    behind = layer.compute_output_shape(shapes)
    return tf.nest.map_structure(lambda shape: tf.TensorShape(shape)[1:], behind)
