"""Named packages of resources, by the names the services have for them.

The setting ``flavors`` adds others and replaces these.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_GiB = 1 << 30


@dataclass(frozen=True)
class Flavor:
    """A named package of resources for one node."""

    cpus: float = 1.0
    memory: int = 0
    gpus: int = 0


def _by_name(name: str) -> Flavor:
    """TI's names for machines without GPUs say what they have."""
    cpus, memory = re.findall(r"\d+", name.rsplit(".", 1)[1])
    return Flavor(cpus=int(cpus), memory=int(memory) * _GiB)


_TI_CPU = """
    TI.SMALL2.1core2g TI.SMALL4.1core4g TI.MEDIUM4.2core4g TI.MEDIUM8.2core8g
    TI.LARGE8.4core8g TI.LARGE16.4core16g TI.2XLARGE16.8core16g TI.2XLARGE32.8core32g
    TI.3XLARGE24.12core24g TI.3XLARGE48.12core48g TI.4XLARGE32.16core32g TI.4XLARGE64.16core64g
    TI.6XLARGE48.24core48g TI.6XLARGE96.24core96g TI.8XLARGE64.32core64g TI.8XLARGE128.32core128g
    TI.12XLARGE96.48core96g TI.12XLARGE192.48core192g TI.16XLARGE128.64core128g
    TI.16XLARGE256.64core256g TI.20XLARGE320.80core320g
"""

FLAVORS: Mapping[str, Flavor] = {
    "cpu.basic": Flavor(cpus=1),
    "modelarts.vm.cpu.2u": Flavor(cpus=2),
    "modelarts.vm.cpu.8u": Flavor(cpus=8),
    "modelarts.p3.large.public.free": Flavor(cpus=2, gpus=1),
    **{name: _by_name(name) for name in _TI_CPU.split()},
    "TI.GN10X.2XLARGE40.1xV100": Flavor(cpus=8, memory=40 * _GiB, gpus=1),
    "TI.GN10X.4XLARGE80.2xV100": Flavor(cpus=18, memory=80 * _GiB, gpus=2),
    "TI.GN10X.9XLARGE160.4xV100": Flavor(cpus=36, memory=160 * _GiB, gpus=4),
    "TI.GN10X.18XLARGE320.8xV100": Flavor(cpus=72, memory=320 * _GiB, gpus=8),
    # The first generation of the SDK's names.
    "ML.GN8.LARGE56": Flavor(cpus=6, memory=56 * _GiB, gpus=1),
    "ML.GN8.3XLARGE112": Flavor(cpus=14, memory=112 * _GiB, gpus=2),
    "ML.GN8.7XLARGE224": Flavor(cpus=28, memory=224 * _GiB, gpus=4),
    "ML.GN8.14XLARGE448": Flavor(cpus=56, memory=448 * _GiB, gpus=8),
    # What its local mode is called.
    "local": Flavor(cpus=1),
    "local_gpu": Flavor(cpus=1, gpus=1),
}
