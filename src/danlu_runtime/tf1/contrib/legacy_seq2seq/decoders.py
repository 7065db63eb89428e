"""Decoders over lists of inputs, one matrix a step."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.rnn.core_rnn_cell import _linear

LoopFunction = Callable[[tf.Tensor, int], tf.Tensor]


def _extract_argmax_and_embed(
    embedding: Any, output_projection: Any = None, update_embedding: bool = True
) -> LoopFunction:
    """Return the function from an output to the embedding of its best symbol."""

    def loop_function(previous: tf.Tensor, _: int) -> tf.Tensor:
        if output_projection is not None:
            previous = tf.nn.xw_plus_b(previous, output_projection[0], output_projection[1])
        embedded = tf.nn.embedding_lookup(embedding, tf.argmax(previous, 1))
        return embedded if update_embedding else tf.stop_gradient(embedded)

    return loop_function


def rnn_decoder(
    decoder_inputs: Iterable[tf.Tensor],
    initial_state: Any,
    cell: Any,
    loop_function: LoopFunction | None = None,
    scope: Any = None,
) -> tuple[list[tf.Tensor], Any]:
    """Run a cell; with ``loop_function`` only the first input is read, then its own outputs."""
    with tf.variable_scope(scope or "rnn_decoder"):
        state, outputs, previous = initial_state, [], None
        for i, inp in enumerate(decoder_inputs):
            if loop_function is not None and previous is not None:
                with tf.variable_scope("loop_function", reuse=True):
                    inp = loop_function(previous, i)
            if i > 0:
                tf.get_variable_scope().reuse_variables()
            output, state = cell(inp, state)
            outputs.append(output)
            previous = output
    return outputs, state


def embedding_rnn_decoder(
    decoder_inputs: Sequence[tf.Tensor],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> tuple[list[tf.Tensor], Any]:
    """Decode symbols, looked up in a table ``embedding``."""
    with tf.variable_scope(scope or "embedding_rnn_decoder") as scope:
        _check_projection(output_projection, scope.dtype, cell.output_size, num_symbols)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        loop = None
        if feed_previous:
            loop = _extract_argmax_and_embed(
                embedding, output_projection, update_embedding_for_previous
            )
        embedded = [tf.nn.embedding_lookup(embedding, i) for i in decoder_inputs]
        return rnn_decoder(embedded, initial_state, cell, loop_function=loop)


def attention_decoder(
    decoder_inputs: Sequence[tf.Tensor],
    initial_state: Any,
    attention_states: tf.Tensor,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: LoopFunction | None = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[tf.Tensor], Any]:
    """Run a cell that attends to ``attention_states`` ``[batch, time, size]`` at every step."""
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    if attention_states.shape.as_list()[2] is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.shape}")
    size = cell.output_size if output_size is None else output_size
    with tf.variable_scope(scope or "attention_decoder", dtype=dtype) as scope:
        attend = _Heads(attention_states, num_heads, scope.dtype)
        batch = tf.shape(decoder_inputs[0])[0]
        state, outputs, previous = initial_state, [], None
        attentions = attend.nothing(batch)
        if initial_state_attention:
            attentions = attend(initial_state)
        for i, inp in enumerate(decoder_inputs):
            if i > 0:
                tf.get_variable_scope().reuse_variables()
            if loop_function is not None and previous is not None:
                with tf.variable_scope("loop_function", reuse=True):
                    inp = loop_function(previous, i)
            columns = inp.shape.with_rank(2).as_list()[1]
            if columns is None:
                raise ValueError(f"Could not infer input size from input: {inp.name}")
            cell_output, state = cell(_linear([inp, *attentions], columns, True), state)
            # The variables of the heads were made before the first step in this case.
            again = True if i == 0 and initial_state_attention else None
            with tf.variable_scope(tf.get_variable_scope(), reuse=again):
                attentions = attend(state)
            with tf.variable_scope("AttnOutputProjection"):
                output = _linear([cell_output, *attentions], size, True)
            previous = output
            outputs.append(output)
    return outputs, state


class _Heads:
    """Several attentions over the same states, each with weights of its own."""

    def __init__(self, states: tf.Tensor, count: int, dtype: Any) -> None:
        self._dtype = dtype
        self._length = states.shape.as_list()[1] or tf.shape(states)[1]
        self._size = states.shape.as_list()[2]
        self._hidden = tf.reshape(states, [-1, self._length, 1, self._size])
        self._features, self._v = [], []
        for head in range(count):
            k = tf.get_variable(f"AttnW_{head}", [1, 1, self._size, self._size], dtype)
            self._features.append(tf.nn.conv2d(self._hidden, k, [1, 1, 1, 1], "SAME"))
            self._v.append(tf.get_variable(f"AttnV_{head}", [self._size], dtype))

    def nothing(self, batch: Any) -> list[tf.Tensor]:
        """Return the attentions before the first step: zeros."""
        zeros = [tf.zeros(tf.stack([batch, self._size]), self._dtype) for _ in self._v]
        for attention in zeros:
            attention.set_shape([None, self._size])
        return zeros

    def __call__(self, query: Any) -> list[tf.Tensor]:
        parts = tf.nest.flatten(query)
        query = parts[0] if len(parts) == 1 else tf.concat(parts, 1)
        attentions = []
        for head, (features, v) in enumerate(zip(self._features, self._v, strict=True)):
            with tf.variable_scope(f"Attention_{head}"):
                y = tf.reshape(_linear(query, self._size, True), [-1, 1, 1, self._size])
                scores = tf.reduce_sum(v * tf.tanh(features + tf.cast(y, self._dtype)), [2, 3])
                weights = tf.reshape(tf.nn.softmax(scores), [-1, self._length, 1, 1])
                mean = tf.reduce_sum(weights * self._hidden, [1, 2])
                attentions.append(tf.reshape(mean, [-1, self._size]))
        return attentions


def embedding_attention_decoder(
    decoder_inputs: Sequence[tf.Tensor],
    initial_state: Any,
    attention_states: tf.Tensor,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[tf.Tensor], Any]:
    """Decode symbols, looked up in a table ``embedding``, with attention."""
    size = cell.output_size if output_size is None else output_size
    with tf.variable_scope(scope or "embedding_attention_decoder", dtype=dtype) as scope:
        _check_projection(output_projection, scope.dtype, size, num_symbols)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        loop = None
        if feed_previous:
            loop = _extract_argmax_and_embed(
                embedding, output_projection, update_embedding_for_previous
            )
        return attention_decoder(
            [tf.nn.embedding_lookup(embedding, i) for i in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size=size,
            num_heads=num_heads,
            loop_function=loop,
            initial_state_attention=initial_state_attention,
        )


def _check_projection(projection: Any, dtype: Any, size: int, num_symbols: int) -> None:
    if projection is None:
        return
    weights = tf.convert_to_tensor(projection[0], dtype=dtype)
    weights.shape.assert_is_compatible_with([size, num_symbols])
    biases = tf.convert_to_tensor(projection[1], dtype=dtype)
    biases.shape.assert_is_compatible_with([num_symbols])
