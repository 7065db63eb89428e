"""A worker may come late, and may die and come back; the others wait for it."""

import pytest


@pytest.fixture
def training(site):
    return site.training(steps=10**9, saved=True)


def newest(site):
    """Return the global step of the last checkpoint."""
    return int(site.weights["global_step"])


def test_workers_wait_for_a_late_worker(tf, site, training, monkeypatch):
    monkeypatch.setattr("moxing.tensorflow.executor.cluster.hosts._FIRST_WORD", 0.5)
    server = site.begin("ps", 0, training)
    chief = site.begin("worker", 0, training)
    chief.wait_for_output("Waiting for")
    worker = site.begin("worker", 1, training)
    worker.wait_for_output("step 5.")

    training.end()

    assert [task.waits() for task in (chief, worker, server)] == [0, 0, 0]
    assert f"Waiting for worker 1 at {site.workers[1]}" in chief.text
    assert worker.value[0] == 1


def test_workers_wait_while_chief_restores(tf, site, monkeypatch):
    """Every variable has a value by then: its initial one."""
    monkeypatch.setattr("moxing.tensorflow.executor.cluster.hosts._FIRST_WORD", 0.5)
    training = site.training(slow=True)
    servers, (chief, worker) = site.begin_all(training, sync_replicas=False)
    chief.wait_for_output("restoring")

    worker.wait_for_output("Waiting for worker 0, the chief, to prepare the variables")
    assert "ready" not in worker.text
    (site.folder / "go on").touch()

    assert [task.waits() for task in (chief, worker, *servers)] == [0, 0, 0]


@pytest.mark.services
def test_killed_worker_comes_back_and_continues_with_others(tf, site, training):
    (server,), (chief, worker) = site.begin_all(training)
    worker.wait_for_output("step 10.")

    worker.kill()
    back = site.begin("worker", 1, training)
    back.wait_for_output("step ")
    training.end()

    assert [task.waits() for task in (chief, back, server)] == [0, 0, 0]
    assert chief.value == list(range(1, len(chief.value) + 1))  # the chief has lost nothing
    assert back.value == list(range(back.value[0], back.value[0] + len(back.value)))
    assert 10 < back.value[0] <= chief.value[-1]


@pytest.mark.services
def test_a_killed_chief_goes_on_from_its_checkpoint(tf, site, training):
    (server,), (chief, worker) = site.begin_all(training)
    worker.wait_for_output("step 20.")

    chief.kill()
    saved = newest(site)
    back = site.begin("worker", 0, training)
    back.wait_for_output(f"step {saved + 7}.")
    training.end()

    assert [task.waits() for task in (back, worker, server)] == [0, 0, 0]
    assert back.value == list(range(saved + 1, saved + 1 + len(back.value)))
    assert worker.value[-1] == back.value[-1]


@pytest.mark.services
def test_killed_chief_continues_where_steps_are_not_together(tf, site, training):
    _, (chief, worker) = site.begin_all(training, sync_replicas=False)
    worker.wait_for_output("step 2")

    chief.kill()
    back = site.begin("worker", 0, training, sync_replicas=False)
    back.wait_for_output("step ")
    training.end()
    assert back.poll() is None or back.code == 0
    worker.kill()  # it goes at its own pace, and would for ever

    assert back.waits() == 0


def test_lost_server_is_filled_again_from_checkpoint(tf, site, training):
    (server,), (chief, worker) = site.begin_all(training)
    worker.wait_for_output("step 20.")

    server.kill()
    saved = newest(site)
    again = site.begin("ps", 0, training)
    chief.wait_for_output("The parameter servers were lost: going on from")
    chief.wait_for_output(f"step {saved + 40}.")
    training.end()

    assert [task.waits() for task in (chief, worker, again)] == [0, 0, 0]
