"""Whether a job fits onto the nodes of a cluster, and what its places are: no Ray needed."""

import pytest

from danlu.executors.api import Capacity, Node
from danlu.executors.ray.placement import bundles_of, faults, fits, imagined, places_of, spread
from danlu.job.plan import Role
from danlu.settings import GiB

SMALL = Node("10.0.0.1", 2, 4 * GiB, 0)
LARGE = Node("10.0.0.2", 8, 32 * GiB, 2)
HOLDER = {"host": "10.0.0.2", "port": 20_001, "gpus": ["3"], "work": "/n/work"}


def test_tasks_go_to_the_emptiest_node():
    assert spread([Role("worker", count=3, cpus=2)], [SMALL, LARGE]) == ["10.0.0.2"] * 3
    assert spread([Role("worker", count=2, gpus=1)], [SMALL, LARGE]) == ["10.0.0.2"] * 2


@pytest.mark.parametrize(
    ("role", "field", "words"),
    [
        (Role("worker", cpus=9), "cpus", "9 CPUs, the largest node of the cluster has 8"),
        (Role("worker", memory=64 * GiB), "memory", "64 GiB, the largest node"),
        (Role("worker", gpus=3), "gpus", "3 GPUs, the largest node of the cluster has 2"),
        (Role("worker", count=4, cpus=4), "nodes", "10.0.0.1: 2 CPUs, 0 GPUs, 10.0.0.2: 8 CPUs"),
    ],
)
def test_why_a_job_can_never_fit(role, field, words):
    ((reported, sentence),) = faults([role], [SMALL, LARGE])

    assert reported == field
    assert words in sentence


def test_a_job_that_fits_has_no_fault():
    assert faults([Role("ps", count=2, cpus=0), Role("worker", count=2)], [SMALL]) == []


@pytest.mark.parametrize(
    ("bundles", "there_is"),
    [
        ([{"CPU": 2}, {"CPU": 1}], True),
        ([{"CPU": 1}, {"CPU": 1}, {"CPU": 1}], True),
        ([{"CPU": 2}, {"CPU": 2}], False),  # three CPUs are free, and not on one node
        ([{"CPU": 1, "GPU": 1}, {"CPU": 1}, {"CPU": 1}], True),
        ([{"GPU": 2}], False),
        ([{"memory": 5}], False),
    ],
)
def test_what_is_free_holds_all_bundles_or_not(bundles, there_is):
    nodes = [{"CPU": 2, "memory": 4}, {"CPU": 1, "memory": 4, "GPU": 1}]

    assert fits(bundles, nodes) is there_is


def test_flavor_is_limited_to_share_of_node():
    capacity = Capacity(10, 36 * GiB, ("10.0.0.2/0", "10.0.0.2/1"), (SMALL, LARGE))

    assert capacity.most(1) == Node("", 8, 32 * GiB, 2)
    assert capacity.most(2) == Node("", 5, 18 * GiB, 1)
    assert Capacity(4, 8, ("0",)).most(2) == Node("", 2, 4, 0)


def test_task_without_any_needs_still_gets_bundle():
    assert bundles_of([Role("ps", cpus=0), Role("worker", count=2, cpus=0.5, gpus=1)]) == [
        {"memory": 1 << 20},
        {"CPU": 0.5, "GPU": 1},
        {"CPU": 0.5, "GPU": 1},
    ]


def test_allocations_come_from_their_actors():
    here = {**HOLDER, "isolation": {"namespace": "user", "overlay": True}}
    without = {**HOLDER, "port": 20_002, "isolation": {"namespace": "none"}}

    first, second = places_of("j", 3, [Role("ps", decides=False), Role("worker")], [here, without])

    assert (first.host, first.port, first.gpus) == ("10.0.0.2", 20_001, ("3",))
    assert (first.root, second.root) == ("", "/n/work/j/3/worker-0/root")
    assert first.peers == {"ps": ("10.0.0.2:20001",), "worker": ("10.0.0.2:20002",)}
    assert not first.decides


def test_a_task_that_is_alone_has_no_port():
    (place,) = places_of("j", 1, [Role("worker")], [{**HOLDER, "isolation": {}}])

    assert (place.port, place.peers) == (0, {})


def test_planned_allocations_name_their_node():
    places = imagined([Role("worker", count=2)], ["10.0.0.1", "10.0.0.2"])

    assert [place.host for place in places] == ["10.0.0.1", "10.0.0.2"]
    assert places[0].peers == {"worker": ("10.0.0.1:20000", "10.0.0.2:20001")}
