import socket
import threading

import pytest

from danlu.errors import NoCapacity
from danlu.executors import machine
from danlu.executors.local import LocalExecutor
from danlu.executors.machine import Ports
from danlu.job.plan import Role
from danlu.settings import Settings

FEW = [21_000, 21_001, 21_002, 21_003]


@pytest.fixture
def few(monkeypatch):
    """There are only four ports below those of outgoing connections."""
    monkeypatch.setattr(machine, "_ephemeral", lambda: FEW[-1] + 1)
    return FEW[0]


def is_held(port):
    other = Ports(port)
    other.keep([port])
    return not other.held


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1"])
def test_port_in_use_is_not_chosen(few, address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, FEW[1]), family=family):
        taken = Ports(few).take(3)

    assert sorted(taken) == [FEW[0], *FEW[2:]]


def test_two_danlus_together_never_choose_same_port(few):
    """No port is bound yet, so that each process finds all of them free."""
    both, found = [Ports(few), Ports(few)], []
    together = threading.Barrier(2)

    def choose(mine):
        together.wait()
        found.extend(mine.take(2))

    threads = [threading.Thread(target=choose, args=(mine,)) for mine in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == FEW


def test_no_port_left_is_a_matter_of_waiting(few):
    first, second = Ports(few), Ports(few)
    first.take(3)

    with pytest.raises(NoCapacity, match="no 2 free ports"):
        second.take(2)

    first.drop(FEW)
    assert len(second.take(4)) == 4


def test_script_can_bind_its_reserved_port(few):
    held = Ports(few)
    (port,) = held.take(1)

    with socket.socket() as script:  # without SO_REUSEADDR, the hardest case
        script.bind(("", port))
        script.listen()


def test_new_server_holds_what_one_before_it_held(tmp_path):
    settings = Settings(home=tmp_path / "home", cpus=2, isolation="none")
    before = LocalExecutor(settings)
    places = before.reserve("job", [Role("worker", count=2)])
    del before

    after = LocalExecutor(settings)
    assert is_held(places[1].port)

    after.release("job")
    assert not is_held(places[1].port)


def test_a_dry_run_holds_no_port(tmp_path):
    executor = LocalExecutor(Settings(home=tmp_path / "home", cpus=2, isolation="none"))

    first = executor.place("job", [Role("worker", count=2)])

    assert not is_held(first[0].port)
