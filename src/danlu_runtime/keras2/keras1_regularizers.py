"""Regularizers as Keras 1 spelt them."""

from typing import Any

from tf_keras.src.regularizers import L1L2


def l1(l: float = 0.01) -> Any:  # noqa: E741 - the argument's name in Keras 1
    return L1L2(l1=l)


def l2(l: float = 0.01) -> Any:  # noqa: E741
    return L1L2(l2=l)


def l1l2(l1: float = 0.01, l2: float = 0.01) -> Any:
    return L1L2(l1=l1, l2=l2)


def WeightRegularizer(l1: float = 0.0, l2: float = 0.0) -> Any:
    return L1L2(l1=l1, l2=l2)
