"""tf.contrib.legacy_seq2seq: models over lists of inputs, one tensor a step."""

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.rnn.core_rnn_cell import (
    EmbeddingWrapper as _EmbeddingWrapper,
)
from danlu_runtime.tf1.contrib.rnn.core_rnn_cell import (
    OutputProjectionWrapper as _OutputProjectionWrapper,
)
from danlu_runtime.tf1.contrib.rnn.core_rnn_cell import (
    _linear,
)

# Decoders over lists of inputs, one matrix a step.


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


# Whole models: an encoder and a decoder over lists of inputs.


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
        encoder = _EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, encoder_state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=dtype)
        if output_projection is None:
            cell = _OutputProjectionWrapper(cell, num_decoder_symbols)

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
            cell = _OutputProjectionWrapper(cell, size)

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
        encoder = _EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        outputs, encoder_state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=dtype)
        states = tf.concat([tf.reshape(e, [-1, 1, cell.output_size]) for e in outputs], 1)
        output_size = None
        if output_projection is None:
            cell = _OutputProjectionWrapper(cell, num_decoder_symbols)
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
        encoder = _EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, encoder_state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=dtype)
        for name, decoder_inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with tf.variable_scope(f"one2many_decoder_{name}"):
                cell = _OutputProjectionWrapper(dec_cells_dict[name], symbols)

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


# Cross entropy over lists of logits, and models with buckets of lengths.


Loss = Callable[..., tf.Tensor]


def sequence_loss_by_example(
    logits: Sequence[tf.Tensor],
    targets: Sequence[tf.Tensor],
    weights: Sequence[tf.Tensor],
    average_across_timesteps: bool = True,
    softmax_loss_function: Loss | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return the weighted loss of each row of the batch."""
    _check(logits, targets, weights)
    with tf.name_scope(name, "sequence_loss_by_example"):
        losses = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            if softmax_loss_function is None:
                entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=tf.reshape(target, [-1]), logits=logit
                )
            else:
                entropy = _own_loss(softmax_loss_function, target, logit)
            losses.append(entropy * weight)
        total = tf.add_n(losses)
        # The small number keeps rows without any weight from dividing by zero.
        return total / (tf.add_n(list(weights)) + 1e-12) if average_across_timesteps else total


def _own_loss(loss: Loss, target: tf.Tensor, logit: tf.Tensor) -> tf.Tensor:
    """Call a user's loss: 1.1 named its arguments, 1.0 gave labels first, 0.x inputs first."""
    try:
        names = list(inspect.signature(loss).parameters.values())
    except (TypeError, ValueError):
        names = []
    if len(names) < 2 or any(one.kind is one.VAR_KEYWORD for one in names):
        return loss(labels=target, logits=logit)
    known = [one.name for one in names]
    if "labels" in known and "logits" in known:
        return loss(labels=target, logits=logit)
    return loss(logit, target) if known[0].startswith(("input", "logit")) else loss(target, logit)


def sequence_loss(
    logits: Sequence[tf.Tensor],
    targets: Sequence[tf.Tensor],
    weights: Sequence[tf.Tensor],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Loss | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return the weighted loss of the whole batch, a scalar."""
    with tf.name_scope(name, "sequence_loss"):
        cost = tf.reduce_sum(
            sequence_loss_by_example(
                logits,
                targets,
                weights,
                average_across_timesteps=average_across_timesteps,
                softmax_loss_function=softmax_loss_function,
            )
        )
        if not average_across_batch:
            return cost
        return cost / tf.cast(tf.shape(targets[0])[0], cost.dtype)


def model_with_buckets(
    encoder_inputs: Sequence[tf.Tensor],
    decoder_inputs: Sequence[tf.Tensor],
    targets: Sequence[tf.Tensor],
    weights: Sequence[tf.Tensor],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], tuple[Any, Any]],
    softmax_loss_function: Loss | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[tf.Tensor]]:
    """Build the model once for each bucket of lengths; all share their variables."""
    sizes = (
        ("encoder_inputs", encoder_inputs, buckets[-1][0]),
        ("targets", targets, buckets[-1][1]),
        ("weights", weights, buckets[-1][1]),
    )
    for what, values, size in sizes:
        if len(values) < size:
            raise ValueError(
                f"Length of {what} ({len(values)}) must be at least that of last bucket ({size})."
            )
    outputs: list[Any] = []
    losses: list[tf.Tensor] = []
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    with tf.name_scope(name, "model_with_buckets"):
        for j, (source, target) in enumerate(buckets):
            with tf.variable_scope(tf.get_variable_scope(), reuse=True if j > 0 else None):
                bucket, _ = seq2seq(encoder_inputs[:source], decoder_inputs[:target])
                outputs.append(bucket)
                losses.append(
                    loss(
                        bucket,
                        targets[:target],
                        weights[:target],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses


def _check(logits: Any, targets: Any, weights: Any) -> None:
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
