"""What the platform gives to the arguments of a user's function."""

import functools

import pytest

from danlu.errors import Refused
from danlu_runtime.modelmaker.functions import bind

GIVEN = {"path": "/data", "params": {"units": [8]}, "channels": {"training": "/data"}}
ORDER = ("path", "params")


def call(function, **options):
    return bind("train_input_fn", function, GIVEN, ORDER, **options)()


@pytest.mark.parametrize(
    "function",
    [
        lambda path, params: (path, params),
        lambda params, path: (path, params),
        lambda where, what: (where, what),
        lambda params, where: (where, params),
        lambda what, path: (path, what),
        lambda training_dir, hyperparameters: (training_dir, hyperparameters),
        lambda path, /, params: (path, params),
        lambda path, *, params: (path, params),
        lambda input_channels, params: (input_channels["training"], params),
        functools.partial(lambda path, params, train: (path, params), train=True),
    ],
)
def test_known_names_are_used_others_get_rest(function):
    assert call(function) == ("/data", {"units": [8]})


def test_default_is_kept_for_unknown_names():
    assert call(lambda params, size=3: size) == 3
    assert call(lambda size=3: size) == 3
    assert call(lambda path, params, size=3: size, fills_defaults=True) == 3


def test_positional_call_passes_both_arguments():
    assert call(lambda where="data", what=None: (where, what), fills_defaults=True) == (
        "/data",
        {"units": [8]},
    )
    assert call(lambda params, size=3: size, fills_defaults=True) == 3


def test_each_call_has_parameters_of_its_own():
    taken = bind("model_fn", lambda params: params.pop("units").pop(), GIVEN, ORDER)

    assert [taken(), taken()] == [8, 8]


def test_argument_that_nothing_is_left_for_is_named():
    with pytest.raises(Refused, match="train_input_fn has an argument 'more'"):
        call(lambda path, params, more: None)
