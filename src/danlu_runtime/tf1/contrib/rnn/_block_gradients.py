"""The gradients of the fused LSTM and GRU step.

TensorFlow 2.21 still has the operations ``LSTMBlockCell`` and ``GRUBlockCell``, but their gradients
were registered by the Python files of contrib that left with 1.15.
"""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import ops


def register() -> None:
    """Register both gradients; a second call does nothing."""
    for name, gradient in (("LSTMBlockCell", _lstm_step), ("GRUBlockCell", _gru_step)):
        _register(name, gradient)


def _register(name: str, gradient: Callable[..., Any]) -> None:
    try:
        ops.gradient_registry.lookup(name)
    except LookupError:
        tf.RegisterGradient(name)(gradient)


def _lstm_step(op: tf.Operation, *gradients: tf.Tensor) -> tuple[tf.Tensor, ...]:
    x, cs_prev, h_prev, w, wci, wcf, wco, b = op.inputs
    i, cs, f, o, ci, co, _ = op.outputs
    cs_grad, h_grad = gradients[1], gradients[6]
    cs_prev_grad, icfo_grad, wci_grad, wcf_grad, wco_grad = tf.raw_ops.LSTMBlockCellGrad(
        x=x,
        cs_prev=cs_prev,
        h_prev=h_prev,
        w=w,
        wci=wci,
        wcf=wcf,
        wco=wco,
        b=b,
        i=i,
        cs=cs,
        f=f,
        o=o,
        ci=ci,
        co=co,
        cs_grad=cs_grad,
        h_grad=h_grad,
        use_peephole=op.get_attr("use_peephole"),
    )
    both_grad = tf.matmul(icfo_grad, w, transpose_b=True)
    inputs = x.shape.as_list()[1]
    w_grad = tf.matmul(tf.concat([x, h_prev], 1), icfo_grad, transpose_a=True)
    b_grad = tf.reduce_sum(icfo_grad, 0)
    return (
        both_grad[:, :inputs],
        cs_prev_grad,
        both_grad[:, inputs:],
        w_grad,
        wci_grad,
        wcf_grad,
        wco_grad,
        b_grad,
    )


def _gru_step(op: tf.Operation, *gradients: tf.Tensor) -> tuple[tf.Tensor, ...]:
    x, h_prev, w_ru, w_c, b_ru, b_c = op.inputs
    r, u, c, _ = op.outputs
    x_grad, h_prev_grad, c_bar_grad, ru_bar_grad = tf.raw_ops.GRUBlockCellGrad(
        x=x,
        h_prev=h_prev,
        w_ru=w_ru,
        w_c=w_c,
        b_ru=b_ru,
        b_c=b_c,
        r=r,
        u=u,
        c=c,
        d_h=gradients[3],
    )
    w_ru_grad = tf.matmul(tf.concat([x, h_prev], 1), ru_bar_grad, transpose_a=True)
    w_c_grad = tf.matmul(tf.concat([x, h_prev * r], 1), c_bar_grad, transpose_a=True)
    return (
        x_grad,
        h_prev_grad,
        w_ru_grad,
        w_c_grad,
        tf.reduce_sum(ru_bar_grad, 0),
        tf.reduce_sum(c_bar_grad, 0),
    )
