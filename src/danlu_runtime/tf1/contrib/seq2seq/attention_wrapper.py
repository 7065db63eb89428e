"""The cell that attends to a memory; with it the whole module of that name in TensorFlow 1.15."""

import collections
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.rnn_cell_impl import _zero_state_tensors, assert_like_rnncell
from tensorflow.python.trackable.base import no_automatic_dependency_tracking

from danlu_runtime.tf1.contrib.seq2seq._attention import (
    AttentionMechanism,
    BahdanauAttention,
    BahdanauMonotonicAttention,
    LuongAttention,
    LuongMonotonicAttention,
    _bahdanau_score,
    _BaseAttentionMechanism,
    _BaseMonotonicAttentionMechanism,
    _luong_score,
    _maybe_mask_score,
    _monotonic_probability_fn,
    _prepare_memory,
    hardmax,
    monotonic_attention,
    safe_cumprod,
)
from danlu_runtime.tf1.contrib.seq2seq.basic_decoder import check_layer

__all__ = [
    "AttentionMechanism",
    "AttentionWrapper",
    "AttentionWrapperState",
    "BahdanauAttention",
    "BahdanauMonotonicAttention",
    "LuongAttention",
    "LuongMonotonicAttention",
    "_BaseAttentionMechanism",
    "_BaseMonotonicAttentionMechanism",
    "_bahdanau_score",
    "_compute_attention",
    "_luong_score",
    "_maybe_mask_score",
    "_monotonic_probability_fn",
    "_prepare_memory",
    "_zero_state_tensors",
    "hardmax",
    "monotonic_attention",
    "safe_cumprod",
]

_BEAMS = "Are you using the BeamSearchDecoder?  You may need to tile"
_TILED = "with tf.contrib.seq2seq.tile_batch, multiplier=beam_width."


class AttentionWrapperState(
    collections.namedtuple(
        "AttentionWrapperState",
        ("cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"),
    )
):
    """The state of the cell, the last attention and what the mechanisms remember."""

    def clone(self, **kwargs: Any) -> "AttentionWrapperState":
        """Return a copy with some parts replaced, which must have the shapes of the old ones."""

        def of_same_shape(old: Any, new: Any) -> Any:
            if isinstance(old, tf.Tensor) and isinstance(new, tf.Tensor):
                if not old.shape.is_compatible_with(new.shape):
                    raise ValueError(
                        f"The shape of the AttentionWrapperState is expected to be {old.shape} "
                        f"to match the old one; got {new.shape} ({new.name})."
                    )
                new.set_shape(old.shape)
            return new

        return tf.nest.map_structure(of_same_shape, self, super()._replace(**kwargs))


class AttentionWrapper(tf.nn.rnn_cell.RNNCell):
    """Wraps a cell: its input is joined with the last attention, its output is the query."""

    # tf-keras 2.21 would turn the tuples kept here into its own, which states do not match.
    @no_automatic_dependency_tracking
    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        assert_like_rnncell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        mechanisms = tuple(attention_mechanism) if self._is_multi else (attention_mechanism,)
        for mechanism in mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(
                    "attention_mechanism must be an AttentionMechanism or list of multiple "
                    f"AttentionMechanism instances, saw type: {type(mechanism).__name__}"
                )
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(
                f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}"
            )
        self._cell = cell
        self._attention_mechanisms = mechanisms
        self._cell_input_fn = cell_input_fn or (
            lambda inputs, attention: tf.concat([inputs, attention], -1)
        )
        self._attention_fn = attention_fn or _compute_attention
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        self._attention_layers = _layers(mechanisms, attention_layer_size, attention_layer)
        self._attention_layer_size = _size(mechanisms, self._attention_layers, cell)
        self._initial_cell_state = None
        if initial_cell_state is not None:
            with tf.name_scope(name, "AttentionWrapperInit"):
                last = tf.nest.flatten(initial_cell_state)[-1]
                self._initial_cell_state = self._checked(
                    last.shape.as_list()[0] or tf.shape(last)[0],
                    initial_cell_state,
                    f"Non-matching batch sizes between the memory (encoder output) and "
                    f"initial_cell_state.  {_BEAMS} your initial state {_TILED}",
                )

    def _checked(self, batch_size: Any, values: Any, message: str) -> Any:
        checks = [
            tf.assert_equal(batch_size, mechanism.batch_size, message=f"{self.name}: {message}")
            for mechanism in self._attention_mechanisms
        ]
        with tf.control_dependencies([check for check in checks if check is not None]):
            return tf.nest.map_structure(tf.identity, values)

    def _item_or_tuple(self, values: Any) -> Any:
        every = tuple(values)
        return every if self._is_multi else every[0]

    @property
    def output_size(self) -> Any:
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        mechanisms = self._attention_mechanisms
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=tf.TensorShape([]),
            attention=self._attention_layer_size,
            alignments=self._item_or_tuple(a.alignments_size for a in mechanisms),
            attention_state=self._item_or_tuple(a.state_size for a in mechanisms),
            alignment_history=self._item_or_tuple(
                a.alignments_size if self._alignment_history else () for a in mechanisms
            ),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        """Return the first state; the cell's own is ``initial_cell_state`` where that was given."""
        with tf.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = self._cell.zero_state(batch_size, dtype)
            cell_state = self._checked(
                batch_size,
                cell_state,
                "Non-matching batch sizes between the memory (encoder output) and the requested "
                f"batch size.  {_BEAMS} your encoder output {_TILED}",
            )
            mechanisms = self._attention_mechanisms
            alignments = [a.initial_alignments(batch_size, dtype) for a in mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=tf.zeros([], tf.int32),
                attention=_zero_state_tensors(self._attention_layer_size, batch_size, dtype),
                alignments=self._item_or_tuple(alignments),
                attention_state=self._item_or_tuple(
                    a.initial_state(batch_size, dtype) for a in mechanisms
                ),
                alignment_history=self._item_or_tuple(
                    self._history(alignment, dtype) for alignment in alignments
                ),
            )

    def _history(self, alignments: tf.Tensor, dtype: Any) -> Any:
        if not self._alignment_history:
            return ()
        return tf.TensorArray(dtype, size=0, dynamic_size=True, element_shape=alignments.shape)

    def call(
        self, inputs: Any, state: AttentionWrapperState
    ) -> tuple[tf.Tensor, AttentionWrapperState]:
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. "
                f"Received type {type(state)} instead."
            )
        cell_inputs = self._cell_input_fn(inputs, state.attention)
        cell_output, cell_state = self._cell(cell_inputs, state.cell_state)
        cell_output = self._checked(
            cell_output.shape.as_list()[0] or tf.shape(cell_output)[0],
            cell_output,
            "Non-matching batch sizes between the memory (encoder output) and the query "
            f"(decoder output).  {_BEAMS} your memory input {_TILED}",
        )
        remembered = state.attention_state if self._is_multi else [state.attention_state]
        histories = state.alignment_history if self._is_multi else [state.alignment_history]
        attentions, alignments, new_states, new_histories = [], [], [], []
        for i, mechanism in enumerate(self._attention_mechanisms):
            layer = self._attention_layers[i] if self._attention_layers else None
            attention, alignment, new_state = self._attention_fn(
                mechanism, cell_output, remembered[i], layer
            )
            attentions.append(attention)
            alignments.append(alignment)
            new_states.append(new_state)
            kept = histories[i].write(state.time, alignment) if self._alignment_history else ()
            new_histories.append(kept)
        attention = tf.concat(attentions, 1)
        next_state = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=attention,
            attention_state=self._item_or_tuple(new_states),
            alignments=self._item_or_tuple(alignments),
            alignment_history=self._item_or_tuple(new_histories),
        )
        return (attention if self._output_attention else cell_output), next_state


def _compute_attention(
    attention_mechanism: Any, cell_output: tf.Tensor, attention_state: Any, attention_layer: Any
) -> tuple[tf.Tensor, tf.Tensor, Any]:
    """Return the attention, the alignments and the next state of one mechanism."""
    alignments, next_state = attention_mechanism(cell_output, state=attention_state)
    context = tf.matmul(tf.expand_dims(alignments, 1), attention_mechanism.values)
    context = tf.squeeze(context, [1])
    if attention_layer is not None:
        context = attention_layer(tf.concat([cell_output, context], 1))
    return context, alignments, next_state


def _layers(mechanisms: Any, sizes: Any, layers: Any) -> tuple[Any, ...] | None:
    if sizes is not None and layers is not None:
        raise ValueError("Only one of attention_layer_size and attention_layer should be set")
    given, name = (sizes, "attention_layer_size") if layers is None else (layers, "attention_layer")
    if given is None:
        return None
    each = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if len(each) != len(mechanisms):
        raise ValueError(
            f"If provided, {name} must contain exactly one per attention_mechanism, "
            f"saw: {len(each)} vs {len(mechanisms)}"
        )
    if layers is not None:
        for layer in each:
            check_layer("attention_layer", layer)
        return each
    return tuple(
        tf.layers.Dense(size, name="attention_layer", use_bias=False, dtype=mechanism.dtype)
        for size, mechanism in zip(each, mechanisms, strict=True)
    )


def _size(mechanisms: Any, layers: Any, cell: Any) -> int:
    """Return the number of columns of all attentions together."""
    depths = [mechanism.values.shape.as_list()[-1] for mechanism in mechanisms]
    if layers is None:
        return sum(depths)
    shapes = [
        layer.compute_output_shape(tf.TensorShape([None, cell.output_size + depth]))
        for layer, depth in zip(layers, depths, strict=True)
    ]
    return sum(tf.TensorShape(shape).as_list()[-1] for shape in shapes)
