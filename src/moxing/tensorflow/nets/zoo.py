"""The table of all networks: builder, picture size, preprocessing, labels and options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Network:
    """One row of the table of networks."""

    builder: str  # module and function below this package; "" where Danlu has none
    size: int
    preprocessing: str
    labels_offset: int
    logits: str  # what the names of the classifiers' variables contain; several with commas
    fixed: Mapping[str, Any] = field(default_factory=dict)  # given to the builder
    options: tuple[str, ...] = ()  # may be given by the caller


_DROPOUT = ("dropout_keep_prob",)
_NOT_BUILT = ("", 224, "vgg", 1, "logits")
_UNITS = {
    18: (2, 2, 2, 2),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
}


def _resnet(builder: str, name: str, layers: int, *options: str, **fixed: Any) -> Network:
    scope = {"scope": name, "units": _UNITS[layers]}
    return Network(f"resnet:{builder}", 224, "vgg", 1, "logits", {**scope, **fixed}, options)


def _small_resnet(name: str, units: int) -> Network:
    fixed = {"scope": name, "units": (units,) * 3}
    return Network("resnet:cifar", 32, "cifarnet", 0, "logits", fixed)


def _vgg(name: str, *convolutions: int, normalized: bool = False) -> Network:
    fixed = {"scope": name, "convolutions": convolutions, "normalized": normalized}
    return Network("plain:vgg", 224, "vgg", 1, "fc8", fixed, _DROPOUT)


def _inception(builder: str) -> Network:
    options = (*_DROPOUT, "create_aux_logits")
    return Network(f"inception:{builder}", 299, "inception", 0, "Logits", {}, options)


def _mobilenet(builder: str, width: float) -> Network:
    fixed = {"width": width}
    return Network(f"mobilenet:{builder}", 224, "inception", 0, "Logits", fixed, _DROPOUT)


def _nasnet(
    size: int,
    cells: int,
    depth: int,
    stem_depth: int,
    drop_path_keep_prob: float,
    dense_dropout_keep_prob: float,
    total_training_steps: int,
    *,
    stem: str = "imagenet",
    **given: bool,
) -> Network:
    chosen = {
        "drop_path_keep_prob": drop_path_keep_prob,
        "dense_dropout_keep_prob": dense_dropout_keep_prob,
        "total_training_steps": total_training_steps,
    }
    shape = {"stem": stem, "cells": cells, "depth": depth, "stem_depth": stem_depth}
    fixed: dict[str, Any] = {**shape, **chosen, **given}
    family = "cifarnet" if stem == "cifar" else "inception"
    options = (*chosen, "use_aux_head")
    return Network("nasnet:nasnet", size, family, 0, "final_layer,aux_logits", fixed, options)


def _xception(name: str, entry: str, middle: int) -> Network:
    fixed = {"scope": name, "entry": entry, "middle": middle}
    return Network("xception:xception", 299, "inception", 0, "logits", fixed, _DROPOUT)


NETWORKS: dict[str, Network] = {
    "alexnet_v2": Network("plain:alexnet_v2", 224, "vgg", 1, "fc8", {}, _DROPOUT),
    "cifarnet": Network("plain:cifarnet", 32, "cifarnet", 0, "logits", {}, _DROPOUT),
    "overfeat": Network("plain:overfeat", 231, "vgg", 1, "fc8", {}, _DROPOUT),
    "vgg_a": _vgg("vgg_a", 1, 1, 2, 2, 2),
    "vgg_16": _vgg("vgg_16", 2, 2, 3, 3, 3),
    "vgg_19": _vgg("vgg_19", 2, 2, 4, 4, 4),
    "vgg_a_bn": _vgg("vgg_a_bn", 1, 1, 2, 2, 2, normalized=True),
    "vgg_16_bn": _vgg("vgg_16_bn", 2, 2, 3, 3, 3, normalized=True),
    "vgg_19_bn": _vgg("vgg_19_bn", 2, 2, 4, 4, 4, normalized=True),
    "inception_v1": Network("inception:v1", 224, "inception", 0, "Logits", {}, _DROPOUT),
    "inception_v2": Network("inception:v2", 224, "inception", 0, "Logits", {}, _DROPOUT),
    "inception_v3": _inception("v3"),
    "inception_v4": _inception("v4"),
    "inception_resnet_v2": _inception("resnet_v2"),
    "lenet": Network("plain:lenet", 28, "lenet", 0, "fc4", {}, _DROPOUT),
    "mobilenet_v1": _mobilenet("v1", 1.0),
    "mobilenet_v1_075": _mobilenet("v1", 0.75),
    "mobilenet_v1_050": _mobilenet("v1", 0.5),
    "mobilenet_v1_025": _mobilenet("v1", 0.25),
    "mobilenet_v2": _mobilenet("v2", 1.0),
    "mobilenet_v2_140": _mobilenet("v2", 1.4),
    "mobilenet_v2_035": _mobilenet("v2", 0.35),
    "resnet_v1_18": _resnet("v1", "resnet_v1_18", 18, bottleneck=False),
    "resnet_v1_20": _small_resnet("resnet_v1_20", 3),
    "resnet_v1_50": _resnet("v1", "resnet_v1_50", 50),
    "resnet_v1_50_8k": _resnet(
        *("v1", "resnet_v1_50_8k", 50, "official", "weights_initializer_params"),
        stride_first=True,
    ),
    "resnet_v1_101": _resnet("v1", "resnet_v1_101", 101),
    "resnet_v1_110": _small_resnet("resnet_v1_110", 18),
    "resnet_v1_152": _resnet("v1", "resnet_v1_152", 152),
    "resnet_v1_200": _resnet("v1", "resnet_v1_200", 200),
    "resnet_v1_50_mox": Network(*_NOT_BUILT),
    "resnet_v1_50_oct": Network(*_NOT_BUILT),
    "resnet_v2_50": _resnet("v2", "resnet_v2_50", 50),
    "resnet_v2_101": _resnet("v2", "resnet_v2_101", 101),
    "resnet_v2_152": _resnet("v2", "resnet_v2_152", 152),
    "resnet_v2_200": _resnet("v2", "resnet_v2_200", 200),
    "resnext_b_50": _resnet("resnext", "resnext_b_50", 50, paths_apart=True),
    "resnext_b_101": _resnet("resnext", "resnext_b_101", 101, paths_apart=True),
    "resnext_c_50": _resnet("resnext", "resnext_c_50", 50, paths_apart=False),
    "resnext_c_101": _resnet("resnext", "resnext_c_101", 101, paths_apart=False),
    # Size, cells, depth and depth of the stem; then two probabilities and the steps.
    "nasnet_cifar": _nasnet(32, 18, 32, 96, 0.6, 1.0, 937500, stem="cifar"),
    "nasnet_mobile": _nasnet(224, 12, 44, 32, 1.0, 0.5, 250000),
    "nasnet_large": _nasnet(331, 18, 168, 96, 0.7, 0.5, 250000, skips=True),
    "pnasnet_mobile": _nasnet(224, 9, 54, 32, 1.0, 0.5, 250000, progressive=True),
    "pnasnet_large": _nasnet(331, 12, 216, 96, 0.6, 0.5, 250000, progressive=True),
    "xception_41": _xception("xception_41", "short", 8),
    "xception_65": _xception("xception_65", "short", 16),
    "xception_71": _xception("xception_71", "long", 16),
    "pvanet": Network(*_NOT_BUILT),
}
