"""Whole models: an encoder and a decoder over lists of inputs."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.legacy_seq2seq.decoders import (
    _extract_argmax_and_embed,
    embedding_attention_decoder,
    embedding_rnn_decoder,
    rnn_decoder,
)
from danlu_runtime.tf1.contrib.rnn.core_rnn_cell import EmbeddingWrapper, OutputProjectionWrapper

Outputs = tuple[list[tf.Tensor], Any]


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[tf.Tensor],
    decoder_inputs: Sequence[tf.Tensor],
    cell: Any,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> Outputs:
    """Encode with a copy of the cell, then decode with the cell."""
    with tf.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = tf.nn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Sequence[tf.Tensor],
    decoder_inputs: Sequence[tf.Tensor],
    cell: Any,
    loop_function: Any = None,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> Outputs:
    """Encode and decode with one cell and one set of variables."""
    with tf.variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = tf.nn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        tf.get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[tf.Tensor],
    decoder_inputs: Sequence[tf.Tensor],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> Outputs:
    """Encode and decode symbols, each side with a table of its own."""
    with tf.variable_scope(scope or "embedding_rnn_seq2seq") as scope:
        dtype = _typed(scope, dtype)
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, encoder_state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(feed: bool, update: bool = True) -> Outputs:
            return embedding_rnn_decoder(
                decoder_inputs,
                encoder_state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection=output_projection,
                feed_previous=feed,
                update_embedding_for_previous=update,
            )

        return _fed(feed_previous, decode, len(decoder_inputs), encoder_state)


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Sequence[tf.Tensor],
    decoder_inputs: Sequence[tf.Tensor],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> Outputs:
    """Encode and decode symbols of one table with one cell."""
    with tf.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as scope:
        dtype = scope.dtype
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size], dtype)
        encoded = [tf.nn.embedding_lookup(embedding, x) for x in encoder_inputs]
        decoded = [tf.nn.embedding_lookup(embedding, x) for x in decoder_inputs]
        size = num_symbols if num_decoder_symbols is None else num_decoder_symbols
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, size)

        def decode(feed: bool, update: bool = True) -> Outputs:
            loop = _extract_argmax_and_embed(embedding, output_projection, update) if feed else None
            return tied_rnn_seq2seq(encoded, decoded, cell, loop_function=loop, dtype=dtype)

        # The state that a condition gives back has the shape of the cell's own.
        shape_of = cell.zero_state(tf.shape(encoded[0])[0], dtype)
        return _fed(feed_previous, decode, len(decoder_inputs), shape_of)


def embedding_attention_seq2seq(
    encoder_inputs: Sequence[tf.Tensor],
    decoder_inputs: Sequence[tf.Tensor],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Outputs:
    """Encode and decode symbols; the decoder attends to every output of the encoder."""
    with tf.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as scope:
        dtype = scope.dtype
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        outputs, encoder_state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=dtype)
        states = tf.concat([tf.reshape(e, [-1, 1, cell.output_size]) for e in outputs], 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decode(feed: bool, update: bool = True) -> Outputs:
            return embedding_attention_decoder(
                decoder_inputs,
                encoder_state,
                states,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=feed,
                update_embedding_for_previous=update,
                initial_state_attention=initial_state_attention,
            )

        return _fed(feed_previous, decode, len(decoder_inputs), encoder_state)


def one2many_rnn_seq2seq(
    encoder_inputs: Sequence[tf.Tensor],
    decoder_inputs_dict: Mapping[str, Sequence[tf.Tensor]],
    enc_cell: Any,
    dec_cells_dict: Mapping[str, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: Mapping[str, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[dict[str, list[tf.Tensor]], dict[str, Any]]:
    """Encode once and decode with several decoders, by name."""
    outputs: dict[str, list[tf.Tensor]] = {}
    states: dict[str, Any] = {}
    with tf.variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as scope:
        dtype = scope.dtype
        encoder = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, encoder_state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=dtype)
        for name, decoder_inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with tf.variable_scope(f"one2many_decoder_{name}"):
                cell = OutputProjectionWrapper(dec_cells_dict[name], symbols)

                def decode(
                    feed: bool,
                    update: bool = True,
                    inputs: Any = decoder_inputs,
                    cell: Any = cell,
                    symbols: int = symbols,
                ) -> Outputs:
                    return embedding_rnn_decoder(
                        inputs,
                        encoder_state,
                        cell,
                        symbols,
                        embedding_size,
                        feed_previous=feed,
                        update_embedding_for_previous=update,
                    )

                outputs[name], states[name] = _fed(
                    feed_previous, decode, len(decoder_inputs), encoder_state
                )
    return outputs, states


def _typed(scope: Any, dtype: Any) -> Any:
    if dtype is not None:
        scope.set_dtype(dtype)
    return scope.dtype


def _fed(
    feed_previous: Any, decode: Callable[..., Outputs], count: int, state_like: Any
) -> Outputs:
    """Decode from data or from own outputs; a tensor decides as the graph runs."""
    if isinstance(feed_previous, bool):
        return decode(feed_previous)

    def branch(feed: bool) -> list[tf.Tensor]:
        # The branch that reads its own outputs is built first and makes the variables.
        with tf.variable_scope(tf.get_variable_scope(), reuse=None if feed else True):
            outputs, state = decode(feed, False)
        return [*outputs, *tf.nest.flatten(state)]

    both = tf.cond(feed_previous, lambda: branch(True), lambda: branch(False))
    return both[:count], tf.nest.pack_sequence_as(state_like, both[count:])
