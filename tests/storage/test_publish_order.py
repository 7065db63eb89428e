"""A mirror can be restored from at every moment: data before what refers to it."""

import random

import pytest

from danlu.storage.transfer.upload import depends_on, publish_order, unfinished

CHECKPOINT = [
    "model.ckpt-10.data-00000-of-00001",
    "model.ckpt-10.index",
    "model.ckpt-10.meta",
    "checkpoint",
]


def test_what_refers_comes_after_what_it_refers_to() -> None:
    paths = [
        *CHECKPOINT,
        "a/checkpoint",
        "events.out.tfevents.1",
        "export/1/saved_model.pb",
        "export/1/variables/variables.data-00000-of-00001",
        "export/1/variables/variables.index",
        "zz",
    ]
    for seed in range(20):
        random.Random(seed).shuffle(paths)

        assert publish_order(paths) == [
            "events.out.tfevents.1",
            "export/1/variables/variables.data-00000-of-00001",
            "model.ckpt-10.data-00000-of-00001",
            "zz",
            "export/1/variables/variables.index",
            "model.ckpt-10.index",
            "model.ckpt-10.meta",
            "export/1/saved_model.pb",
            "a/checkpoint",
            "checkpoint",
        ]


@pytest.mark.parametrize(
    ("path", "other", "result"),
    [
        ("m-1.index", "m-1.data-00000-of-00001", True),
        ("m-1.index", "m-10.data-00000-of-00001", False),
        ("d/m-1.index", "m-1.data-00000-of-00001", False),
        ("m-1.data-00000-of-00001", "m-1.index", False),
        ("m-1.index", "m-1.meta", False),
        ("checkpoint", "m-1.index", True),
        ("checkpoint", "m-1.data-00000-of-00001", True),
        ("checkpoint", "events.out.tfevents.1", False),
        ("checkpoint", "d/m-1.index", False),
        ("checkpoint", "checkpoint", False),
        ("e/1/saved_model.pb", "e/1/variables/variables.index", True),
        ("e/1/saved_model.pb", "e/1/assets/words.txt", True),
        ("e/1/saved_model.pb", "e/2/variables/variables.index", False),
        ("saved_model.pb", "variables/variables.index", True),
        ("train.log", "m-1.index", False),
    ],
)
def test_what_waits_for_what(path: str, other: str, result: bool) -> None:
    assert depends_on(path, other) is result


@pytest.mark.parametrize(
    ("path", "result"),
    [
        ("m-1.data-00000-of-00001.tempstate123", True),
        ("d/m-1_temp/part-00000-of-00001.index", True),
        ("m-1_temp_0f3a9/part-00000-of-00001.data-00000-of-00001", True),
        ("checkpoint.tmp0f3a", True),
        ("checkpoint", False),
        ("my_temp/part-1", False),
        ("checkpoint.tmpl", False),
        ("m-1.index", False),
    ],
)
def test_what_tensorflow_is_just_writing(path: str, result: bool) -> None:
    assert unfinished(path) is result
