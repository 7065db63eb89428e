"""The Inception networks as tables: each module is a list of branches, each branch its steps.

A step is ``depth name``, a convolution whose name ends in its kernel, or ``max name`` or
``avg name``. What may follow: ``k3x3`` a kernel other than the name says, ``~0.1`` the deviation of
its first weights, ``/2`` the stride, ``valid`` no padding. Two steps with ``|`` between them read
the same and are joined. Where TF-slim's names have slips, these have them too: checkpoints do.
"""

Module = list[str]
Table = dict[str, Module | str]


def _v1(*depths: int, slip: str = "0b") -> Module:
    one, few3, three, few5, five, pooled = depths
    return [
        f"{one} 0a_1x1",
        f"{few3} 0a_1x1, {three} 0b_3x3",
        f"{few5} 0a_1x1, {five} {slip}_3x3",
        f"max 0a_3x3, {pooled} 0b_1x1",
    ]


V1: Table = {
    "Conv2d_1a_7x7": "64 1a_7x7 /2",
    "MaxPool_2a_3x3": "max 2a_3x3 /2",
    "Conv2d_2b_1x1": "64 2b_1x1",
    "Conv2d_2c_3x3": "192 2c_3x3",
    "MaxPool_3a_3x3": "max 3a_3x3 /2",
    "Mixed_3b": _v1(64, 96, 128, 16, 32, 32),
    "Mixed_3c": _v1(128, 128, 192, 32, 96, 64),
    "MaxPool_4a_3x3": "max 4a_3x3 /2",
    "Mixed_4b": _v1(192, 96, 208, 16, 48, 64),
    "Mixed_4c": _v1(160, 112, 224, 24, 64, 64),
    "Mixed_4d": _v1(128, 128, 256, 24, 64, 64),
    "Mixed_4e": _v1(112, 144, 288, 32, 64, 64),
    "Mixed_4f": _v1(256, 160, 320, 32, 128, 128),
    "MaxPool_5a_2x2": "max 5a_2x2 /2",
    "Mixed_5b": _v1(256, 160, 320, 32, 128, 128, slip="0a"),
    "Mixed_5c": _v1(384, 192, 384, 48, 128, 128),
}


def _v2(*depths: int, pool: str = "avg") -> Module:
    one, few3, three, few33, three3, pooled = depths
    return [
        f"{one} 0a_1x1",
        f"{few3} 0a_1x1 ~0.09, {three} 0b_3x3",
        f"{few33} 0a_1x1 ~0.09, {three3} 0b_3x3, {three3} 0c_3x3",
        f"{pool} 0a_3x3, {pooled} 0b_1x1 ~0.1",
    ]


def _v2_smaller(few3: int, three: int, few33: int, three3: int) -> Module:
    return [
        f"{few3} 0a_1x1 ~0.09, {three} 1a_3x3 /2",
        f"{few33} 0a_1x1 ~0.09, {three3} 0b_3x3, {three3} 1a_3x3 /2",
        "max 1a_3x3 /2",
    ]


# After its first layer, which is no plain convolution.
V2: Table = {
    "MaxPool_2a_3x3": "max 2a_3x3 /2",
    "Conv2d_2b_1x1": "64 2b_1x1 ~0.1",
    "Conv2d_2c_3x3": "192 2c_3x3",
    "MaxPool_3a_3x3": "max 3a_3x3 /2",
    "Mixed_3b": _v2(64, 64, 64, 64, 96, 32),
    "Mixed_3c": _v2(64, 64, 96, 64, 96, 64),
    "Mixed_4a": _v2_smaller(128, 160, 64, 96),
    "Mixed_4b": _v2(224, 64, 96, 96, 128, 128),
    "Mixed_4c": _v2(192, 96, 128, 96, 128, 128),
    "Mixed_4d": _v2(160, 128, 160, 128, 160, 96),
    "Mixed_4e": _v2(96, 128, 192, 160, 192, 96),
    "Mixed_5a": _v2_smaller(128, 192, 192, 256),
    "Mixed_5b": _v2(352, 192, 320, 160, 224, 128),
    "Mixed_5c": _v2(352, 192, 320, 192, 224, 128, pool="max"),
}


def _v3_fives(pooled: int, slip: str = "48 0a_1x1, 64 0b_5x5") -> Module:
    return [
        "64 0a_1x1",
        slip,
        "64 0a_1x1, 96 0b_3x3, 96 0c_3x3",
        f"avg 0a_3x3, {pooled} 0b_1x1",
    ]


def _v3_sevens(few: int) -> Module:
    return [
        "192 0a_1x1",
        f"{few} 0a_1x1, {few} 0b_1x7, 192 0c_7x1",
        f"{few} 0a_1x1, {few} 0b_7x1, {few} 0c_1x7, {few} 0d_7x1, 192 0e_1x7",
        "avg 0a_3x3, 192 0b_1x1",
    ]


def _v3_forks(second: str) -> Module:
    return [
        "320 0a_1x1",
        f"384 0a_1x1, 384 0b_1x3 | 384 {second}_3x1",
        "448 0a_1x1, 384 0b_3x3, 384 0c_1x3 | 384 0d_3x1",
        "avg 0a_3x3, 192 0b_1x1",
    ]


V3: Table = {
    "Conv2d_1a_3x3": "32 1a_3x3 /2 valid",
    "Conv2d_2a_3x3": "32 2a_3x3 valid",
    "Conv2d_2b_3x3": "64 2b_3x3",
    "MaxPool_3a_3x3": "max 3a_3x3 /2 valid",
    "Conv2d_3b_1x1": "80 3b_1x1",
    "Conv2d_4a_3x3": "192 4a_3x3 valid",
    "MaxPool_5a_3x3": "max 5a_3x3 /2 valid",
    "Mixed_5b": _v3_fives(32),
    "Mixed_5c": _v3_fives(64, "48 0b_1x1, 64 Conv_1_0c_5x5"),
    "Mixed_5d": _v3_fives(64),
    "Mixed_6a": [
        "384 1a_1x1 k3x3 /2 valid",
        "64 0a_1x1, 96 0b_3x3, 96 1a_1x1 k3x3 /2 valid",
        "max 1a_3x3 /2 valid",
    ],
    "Mixed_6b": _v3_sevens(128),
    "Mixed_6c": _v3_sevens(160),
    "Mixed_6d": _v3_sevens(160),
    "Mixed_6e": _v3_sevens(192),
    "Mixed_7a": [
        "192 0a_1x1, 320 1a_3x3 /2 valid",
        "192 0a_1x1, 192 0b_1x7, 192 0c_7x1, 192 1a_3x3 /2 valid",
        "max 1a_3x3 /2 valid",
    ],
    "Mixed_7b": _v3_forks("0b"),
    "Mixed_7c": _v3_forks("0c"),
}

_V4_A = [
    "96 0a_1x1",
    "64 0a_1x1, 96 0b_3x3",
    "64 0a_1x1, 96 0b_3x3, 96 0c_3x3",
    "avg 0a_3x3, 96 0b_1x1",
]
_V4_B = [
    "384 0a_1x1",
    "192 0a_1x1, 224 0b_1x7, 256 0c_7x1",
    "192 0a_1x1, 192 0b_7x1, 224 0c_1x7, 224 0d_7x1, 256 0e_1x7",
    "avg 0a_3x3, 128 0b_1x1",
]
_V4_C = [
    "256 0a_1x1",
    "384 0a_1x1, 256 0b_1x3 | 256 0c_3x1",
    "384 0a_1x1, 448 0b_3x1, 512 0c_1x3, 256 0d_1x3 | 256 0e_3x1",
    "avg 0a_3x3, 256 0b_1x1",
]
V4: Table = {
    "Conv2d_1a_3x3": "32 1a_3x3 /2 valid",
    "Conv2d_2a_3x3": "32 2a_3x3 valid",
    "Conv2d_2b_3x3": "64 2b_3x3",
    "Mixed_3a": ["max 0a_3x3 /2 valid", "96 0a_3x3 /2 valid"],
    "Mixed_4a": [
        "64 0a_1x1, 96 1a_3x3 valid",
        "64 0a_1x1, 64 0b_1x7, 64 0c_7x1, 96 1a_3x3 valid",
    ],
    "Mixed_5a": ["192 1a_3x3 /2 valid", "max 1a_3x3 /2 valid"],
    **{f"Mixed_5{letter}": _V4_A for letter in "bcde"},
    "Mixed_6a": [
        "384 1a_3x3 /2 valid",
        "192 0a_1x1, 224 0b_3x3, 256 1a_3x3 /2 valid",
        "max 1a_3x3 /2 valid",
    ],
    **{f"Mixed_6{letter}": _V4_B for letter in "bcdefgh"},
    "Mixed_7a": [
        "192 0a_1x1, 192 1a_3x3 /2 valid",
        "256 0a_1x1, 256 0b_1x7, 320 0c_7x1, 320 1a_3x3 /2 valid",
        "max 1a_3x3 /2 valid",
    ],
    **{f"Mixed_7{letter}": _V4_C for letter in "bcd"},
}

RESNET_STEM: Table = {
    "Conv2d_1a_3x3": "32 1a_3x3 /2 valid",
    "Conv2d_2a_3x3": "32 2a_3x3 valid",
    "Conv2d_2b_3x3": "64 2b_3x3",
    "MaxPool_3a_3x3": "max 3a_3x3 /2 valid",
    "Conv2d_3b_1x1": "80 3b_1x1",
    "Conv2d_4a_3x3": "192 4a_3x3 valid",
    "MaxPool_5a_3x3": "max 5a_3x3 /2 valid",
    "Mixed_5b": [
        "96 1x1",
        "48 0a_1x1, 64 0b_5x5",
        "64 0a_1x1, 96 0b_3x3, 96 0c_3x3",
        "avg 0a_3x3, 64 0b_1x1",
    ],
}
RESNET_6A: Module = [
    "384 1a_3x3 /2 valid",
    "256 0a_1x1, 256 0b_3x3, 384 1a_3x3 /2 valid",
    "max 1a_3x3 /2 valid",
]
RESNET_7A: Module = [
    "256 0a_1x1, 384 1a_3x3 /2 valid",
    "256 0a_1x1, 288 1a_3x3 /2 valid",
    "256 0a_1x1, 288 0b_3x3, 320 1a_3x3 /2 valid",
    "max 1a_3x3 /2 valid",
]
BLOCK_35: Module = [
    "32 1x1",
    "32 0a_1x1, 32 0b_3x3",
    "32 0a_1x1, 48 0b_3x3, 64 0c_3x3",
]
BLOCK_17: Module = ["192 1x1", "128 0a_1x1, 160 0b_1x7, 192 0c_7x1"]
BLOCK_8: Module = ["192 1x1", "192 0a_1x1, 224 0b_1x3, 256 0c_3x1"]
