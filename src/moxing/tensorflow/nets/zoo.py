"""Every network by name: where it is built, and what has to be known about it beforehand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Network:
    """One row of the table of networks."""

    builder: str  # module and function below this package; "" where nobody outside knows it
    size: int
    preprocessing: str
    labels_offset: int
    logits: str  # what the names of the classifier's variables contain
    fixed: Mapping[str, Any] = field(default_factory=dict)  # given to the builder
    options: tuple[str, ...] = ()  # may be given by the caller


_DROPOUT = ("dropout_keep_prob",)
_SECRET = ("", 224, "vgg", 1, "logits")
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
    "lenet": Network("plain:lenet", 28, "lenet", 0, "fc4", {}, _DROPOUT),
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
    "resnet_v1_50_mox": Network(*_SECRET),
    "resnet_v1_50_oct": Network(*_SECRET),
    "resnet_v2_50": _resnet("v2", "resnet_v2_50", 50),
    "resnet_v2_101": _resnet("v2", "resnet_v2_101", 101),
    "resnet_v2_152": _resnet("v2", "resnet_v2_152", 152),
    "resnet_v2_200": _resnet("v2", "resnet_v2_200", 200),
    "resnext_b_50": _resnet("resnext", "resnext_b_50", 50, paths_apart=True),
    "resnext_b_101": _resnet("resnext", "resnext_b_101", 101, paths_apart=True),
    "resnext_c_50": _resnet("resnext", "resnext_c_50", 50, paths_apart=False),
    "resnext_c_101": _resnet("resnext", "resnext_c_101", 101, paths_apart=False),
    "pvanet": Network(*_SECRET),
}
