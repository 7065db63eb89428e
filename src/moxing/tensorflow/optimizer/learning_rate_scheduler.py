"""Learning rates that depend on the global step, and access to the rate of an optimizer."""

import math
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.wrapping import layers


@dataclass(frozen=True)
class Piece:
    """From epoch ``start`` to ``end`` the rate goes from ``first`` to ``last``."""

    start: float
    end: float
    first: float
    last: float
    exponential: bool = False


def read(strategy: Any) -> list[Piece]:
    """Return the pieces of ``'E:rate,E:a->b,E:a=>b'``, or of one number.

    Raises:
        ValueError: it is neither, or its epochs do not rise.
    """
    text = str(strategy).strip().rstrip(",")
    if ":" not in text:
        rate = _number(text, strategy, "a rate")
        return [Piece(0.0, math.inf, rate, rate)]
    pieces: list[Piece] = []
    for item in text.split(","):
        pieces.append(_piece(item.strip(), pieces[-1].end if pieces else 0.0, strategy))
    return pieces


def _piece(item: str, start: float, strategy: Any) -> Piece:
    epoch, found, rates = item.partition(":")
    if not found:
        raise ValueError(
            f"{item!r} in the learning rate {strategy!r} is not epoch:rate, such as 10:0.01."
        )
    end = _number(epoch, strategy, "an epoch")
    if end <= start:
        raise ValueError(f"Epochs of the learning rate {strategy!r} must rise: {end:g} does not.")
    return Piece(start, end, *_rates(rates, strategy))


def _rates(text: str, strategy: Any) -> tuple[float, float, bool]:
    for arrow, exponential in (("->", False), ("=>", True)):
        if arrow in text:
            first, last = (_number(each, strategy, "a rate") for each in text.split(arrow, 1))
            if exponential and not (first > 0 and last > 0):
                raise ValueError(
                    f"Rates beside => in the learning rate {strategy!r} must be above 0."
                )
            return first, last, exponential
    rate = _number(text, strategy, "a rate")
    return rate, rate, False


def _number(text: str, strategy: Any, kind: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{text.strip()!r} in the learning rate {strategy!r} is not {kind}.")
    return number


def piecewise_lr(lr_strategy: Any, num_samples: int, global_batch_size: int) -> tf.Tensor:
    """Return the rate of a strategy such as ``'5:0.01->0.1,30:0.1,60:0.1=>0.001'``.

    An item ``E:rate`` holds up to epoch E; ``a->b`` goes from a to b in a line, ``a=>b`` by equal
    factors; the last rate stays. A number alone is a constant. An epoch has as many steps as
    there are batches of ``global_batch_size`` in ``num_samples``, the last one part of one.
    """
    for name, value in (("num_samples", num_samples), ("global_batch_size", global_batch_size)):
        if not value > 0:
            raise ValueError(f"{name} of piecewise_lr must be above 0, got {value!r}.")
    steps_per_epoch = math.ceil(num_samples / global_batch_size)
    step = tf.cast(tf.train.get_or_create_global_step(), tf.int64)
    with tf.name_scope("piecewise_lr"):
        *earlier, last = read(lr_strategy)
        rate = _rate(last, step, steps_per_epoch)
        for piece in reversed(earlier):
            end = _step(piece.end, steps_per_epoch)
            rate = tf.where(step < end, _rate(piece, step, steps_per_epoch), rate)
        return rate


def linear_cosine_decay(
    max_lr: Any, min_lr: Any, global_step: Any, max_step: int, warmup: float, decay_end: float
) -> tf.Tensor:
    """Return a rate that rises, falls and rests.

    It rises in a line from ``min_lr`` to ``max_lr`` in the first ``warmup`` of ``max_step`` steps,
    falls until ``decay_end`` of them, and stays at ``min_lr``. With ``p`` from 0 to 1 on its way
    down it is ``min_lr + (max_lr - min_lr) * (1 - p) * (1 + cos(pi * p)) / 2``.
    """
    with tf.name_scope("linear_cosine_decay"):
        up, down = _ways(global_step, max_step, warmup, decay_end)
        height = up * (1.0 - down) * 0.5 * (1.0 + tf.cos(math.pi * down))
        return tf.add(min_lr, (max_lr - min_lr) * height, name="learning_rate")


def polynomial_decay(
    max_lr: Any,
    min_lr: Any,
    global_step: Any,
    max_step: int,
    warmup: float,
    decay_end: float,
    power: float = 2.0,
) -> tf.Tensor:
    """Return a rate as ``linear_cosine_decay`` does, that falls by ``(1 - p) ** power``."""
    with tf.name_scope("polynomial_decay"):
        up, down = _ways(global_step, max_step, warmup, decay_end)
        height = up * tf.pow(1.0 - down, power)
        return tf.add(min_lr, (max_lr - min_lr) * height, name="learning_rate")


def _ways(
    global_step: Any, max_step: int, warmup: float, decay_end: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return how far the rise and the fall of the rate have progressed, from 0 to 1."""
    if not max_step > 0:
        raise ValueError(f"max_step must be above 0, got {max_step!r}.")
    if not 0 <= warmup <= decay_end <= 1:
        raise ValueError(
            "warmup and decay_end are shares of all steps, the first before the second: "
            f"got {warmup!r} and {decay_end!r}."
        )
    step = tf.cast(global_step, tf.float32)
    rise, fall = warmup * max_step, (decay_end - warmup) * max_step
    up = tf.minimum(step / rise, 1.0) if rise > 0 else tf.ones_like(step)
    if fall > 0:
        return up, tf.clip_by_value((step - rise) / fall, 0.0, 1.0)
    return up, tf.cast(step > rise, tf.float32)


def _step(epoch: float, steps_per_epoch: int) -> int:
    return round(epoch * steps_per_epoch)


def _rate(piece: Piece, step: tf.Tensor, steps_per_epoch: int) -> tf.Tensor:
    if piece.first == piece.last:
        return tf.constant(piece.last, tf.float32)
    start, end = _step(piece.start, steps_per_epoch), _step(piece.end, steps_per_epoch)
    if end == start:  # shorter than a step: only its end is used
        return tf.constant(piece.last, tf.float32)
    # Steps are subtracted as integers: float32 is exact only up to 16 million.
    done = tf.clip_by_value(step, start, end) - start
    share = tf.cast(done, tf.float32) / float(end - start)
    if piece.exponential:
        return piece.first * tf.exp(share * math.log(piece.last / piece.first))
    return piece.first + share * (piece.last - piece.first)


_NAMES = ("_learning_rate", "_lr")  # the attributes of TensorFlow's optimizers for it


def learning_rate_of(optimizer: Any) -> Any:
    """Return the rate, a number or a tensor; None if the optimizer has no known rate."""
    found = _found(optimizer)
    if found is None:
        return None
    rate = getattr(*found)
    return rate() if callable(rate) else rate


def scale_learning_rate(optimizer: Any, factor: Any) -> None:
    """Multiply the rate by ``factor``, a number or a tensor, before gradients are applied.

    Raises:
        ValueError: the optimizer has no known rate.
        RuntimeError: gradients have already been applied with the old rate.
    """
    found = _found(optimizer)
    if found is None:
        raise ValueError(
            f"{type(optimizer).__name__} has no learning rate that can be changed: keep it in "
            "self._learning_rate, and read it in _prepare."
        )
    owner, name = found
    if _has_applied(owner):
        raise RuntimeError(
            f"The learning rate of {type(owner).__name__} cannot be changed any more: its "
            "gradients have been applied."
        )
    rate = getattr(owner, name)
    setattr(
        owner,
        name,
        (lambda: _product(rate(), factor)) if callable(rate) else _product(rate, factor),
    )


def _found(optimizer: Any) -> tuple[Any, str] | None:
    for layer in layers(optimizer):
        for name in _NAMES:
            if getattr(layer, name, None) is not None:
                return layer, name
    return None


def _has_applied(optimizer: Any) -> bool:
    tensors = (f"{name}{end}" for name in _NAMES for end in ("_tensor", "_t"))
    return any(getattr(optimizer, name, None) is not None for name in tensors)


def _product(rate: Any, factor: Any) -> tf.Tensor:
    value = tf.convert_to_tensor(rate)
    return tf.multiply(value, tf.cast(factor, value.dtype), name="learning_rate")
