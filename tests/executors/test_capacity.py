"""Capacity: what there is, what is free, and why a job can never fit."""

import re

import pytest

from danlu.executors.api import Capacity
from danlu.executors.machine import Reservations, allocate, faults, left, machine_capacity
from danlu.job.plan import Place, Role
from danlu.settings import GiB, Settings

TWO = Capacity(cpus=2, memory=8 * GiB, gpus=())
CAPACITY = Capacity(cpus=4, memory=8 * GiB, gpus=("0", "1"))


@pytest.mark.parametrize(
    ("setting", "env", "gpus"),
    [
        ("none", {"CUDA_VISIBLE_DEVICES": "0"}, ()),
        ("auto", {"CUDA_VISIBLE_DEVICES": "2,GPU-8f"}, ("2", "GPU-8f")),
        ("auto", {"CUDA_VISIBLE_DEVICES": ""}, ()),
        ("auto", {"CUDA_VISIBLE_DEVICES": "-1"}, ()),
        ("0, 3,3", {}, ("0", "3")),
    ],
)
def test_gpus_are_named_by_setting_or_by_environment(tmp_path, setting, env, gpus):
    assert machine_capacity(Settings(home=tmp_path, gpus=setting), env).gpus == gpus


def test_settings_come_before_what_the_machine_has(tmp_path):
    reported = machine_capacity(Settings(home=tmp_path, cpus=64, memory=GiB), {})
    found = machine_capacity(Settings(home=tmp_path), {})

    assert (reported.cpus, reported.memory) == (64, GiB)
    assert found.cpus >= 1
    assert found.memory > 0


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ([Role("worker", cpus=4, memory=8 * GiB, gpus=2)], []),
        (
            [Role("worker", cpus=5)],
            [("cpus", "a worker asks for 5 CPUs, this machine has 4. Ask for less.")],
        ),
        (
            [Role("worker", memory=9 * GiB, gpus=3)],
            [
                ("memory", "a worker asks for 9 GiB, this machine has 8 GiB. Ask for less."),
                ("gpus", "a worker asks for 3 GPUs, this machine has 2 (0, 1). Ask for less."),
            ],
        ),
        (
            [Role("ps", cpus=0), Role("worker", count=6, memory=2 * GiB, gpus=1)],
            [
                (
                    "cpus",
                    "the 7 tasks of the job ask for 6 CPUs together, this machine has 4."
                    " Ask for fewer tasks, or for 0.66 CPUs on each.",
                ),
                (
                    "memory",
                    "the 7 tasks of the job ask for 12 GiB together, this machine has 8 GiB."
                    " Ask for fewer tasks, or for 1365 MiB on each.",
                ),
                (
                    "gpus",
                    "the 7 tasks of the job ask for 6 GPUs together, this machine has 2 (0, 1)."
                    " Ask for fewer tasks.",
                ),
            ],
        ),
    ],
)
def test_every_fault_has_requested_and_available_amount(roles, expected):
    assert faults(roles, CAPACITY) == expected


@pytest.mark.parametrize("count", [3, 7, 199])
def test_suggested_value_of_a_fault_fits(count):
    (field, sentence), *_ = faults([Role("ps", cpus=0), Role("worker", count=count)], TWO)
    share = float(re.search(r"or for ([\d.]+) CPUs on each", sentence)[1])

    assert field == "cpus"
    assert faults([Role("ps", cpus=0), Role("worker", count=count, cpus=share)], TWO) == []


def test_shares_of_a_cpu_add_up():
    tenths = [Role("worker", count=10, cpus=0.1)]
    capacity = Capacity(cpus=1, memory=0, gpus=())

    first = allocate(tenths, capacity)

    assert first is not None
    assert faults(tenths, capacity) == []
    assert allocate([Role("worker", cpus=0.1)], left(capacity, first)) is None
    assert allocate([Role("worker", cpus=0.1)], left(capacity, first[:9])) is not None


def test_unrequested_memory_is_not_reserved():
    assert allocate([Role("worker", count=4)], Capacity(4, 0, ())) is not None


def test_gpus_are_assigned_in_order_and_once():
    places = allocate([Role("worker", count=2, gpus=1)], CAPACITY)

    assert [place.gpus for place in places] == [("0",), ("1",)]
    assert left(CAPACITY, places[:1]).gpus == ("1",)


def test_unreadable_reservation_is_dropped_and_others_are_kept(tmp_path):
    Reservations(tmp_path).hold("good", [Place("worker", 0, gpus=("0",))])
    (tmp_path / "empty.json").touch()
    (tmp_path / "odd.json").write_text('{"places": 3}')
    (tmp_path / ".tmp-left-by-a-kill").write_text("{")

    after = Reservations(tmp_path)

    assert after.jobs() == ["good"]
    assert after.of("good") == (Place("worker", 0, gpus=("0",)),)
    assert [path.name for path in tmp_path.iterdir()] == ["good.json"]
