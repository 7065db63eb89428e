import pytest

from danlu.executors.api import Capacity
from danlu.job.spec import Resources
from danlu.service.jobs.draft import fit
from danlu.settings import FLAVORS, Flavor, GiB

LAPTOP = Capacity(cpus=4, memory=16 * GiB, gpus=("0",))
SERVER = Capacity(cpus=96, memory=512 * GiB, gpus=tuple("01234567"))
RENTED = "ML.GN8.3XLARGE112"


def fitted(name=RENTED, capacity=LAPTOP, *, strict_gpus=False, **asked):
    resources = Resources(flavor=name, cpus=asked.pop("cpus", 0), **asked)
    return fit(FLAVORS[name], resources, capacity, strict_gpus=strict_gpus)


def test_a_flavor_that_fits_is_as_it_is():
    assert fitted(capacity=SERVER) == (Flavor(14, 112 * GiB, 2), [])


def test_larger_flavor_is_reduced_with_a_note():
    assert fitted() == (
        Flavor(4, 16 * GiB, 1),
        [
            "flavor: ML.GN8.3XLARGE112 is larger than this machine: each node gets "
            "4 CPUs of 14, 16 GiB of 112, 1 GPUs of 2."
        ],
    )


def test_nodes_share_the_machine():
    flavor, _ = fitted(nodes=2)

    assert flavor == Flavor(2, 8 * GiB, 0)


def test_numbers_asked_for_one_by_one_stay():
    flavor, notes = fitted(cpus=2, memory=GiB, gpus=1)

    assert (flavor, notes) == (FLAVORS[RENTED], [])


def test_strict_gpus_are_never_cut():
    flavor, _ = fitted(strict_gpus=True)

    assert flavor.gpus == 2


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("TI.SMALL2.1core2g", (1, 2, 0)),
        ("TI.20XLARGE320.80core320g", (80, 320, 0)),
        ("TI.GN10X.18XLARGE320.8xV100", (72, 320, 8)),
        ("ML.GN8.3XLARGE112", (14, 112, 2)),
    ],
)
def test_instance_types_of_ti_are_known_by_name(name, numbers):
    cpus, memory, gpus = numbers

    assert FLAVORS[name] == Flavor(cpus, memory * GiB, gpus)


def test_job_gets_its_share_with_a_note(platform, request_of):
    job = platform.service.submit({**request_of, "flavor": "TI.20XLARGE320.80core320g"})

    assert job.spec.resources.cpus < 80
    assert any("is larger than this machine" in note for note in job.notes)
