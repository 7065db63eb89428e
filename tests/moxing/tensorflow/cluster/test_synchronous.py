"""One global step is one update from all workers, and a run ends for all of them."""

import pytest


def ends(site, training, **flags):
    """Run a training to its end and return what each worker saw."""
    servers, workers = site.begin_all(training, **flags)
    assert [task.waits() for task in (*workers, *servers)] == [0] * (len(workers) + len(servers))
    return [task.value for task in workers]


@pytest.mark.parametrize(
    ("optimizer", "rare"), [("sgd", True), ("momentum", False), ("adam", False)]
)
def test_two_workers_are_one_with_the_whole_batch(tf, new_site, optimizer, rare):
    """``rare``: a table of which a batch touches few rows, each worker others."""
    wanted = {"optimizer": optimizer, "rare": rare, "saved": True}
    two, one = new_site(), new_site(workers=1)

    seen = ends(two, two.training(**wanted))
    ends(one, one.training(batch=8, **wanted))

    assert seen == [list(range(1, 13))] * 2
    together, alone = two.weights, one.weights
    assert sorted(together) == sorted(alone)
    for name, value in alone.items():
        assert together[name] == pytest.approx(value, abs=1e-5), name


def test_all_three_workers_are_in_every_update(tf, new_site):
    three, one = new_site(workers=3, ps=2), new_site(workers=1)

    seen = ends(three, three.training(batch=2, saved=True))
    ends(one, one.training(batch=6, saved=True))

    assert seen == [list(range(1, 13))] * 3
    assert three.weights["weights"] == pytest.approx(one.weights["weights"], abs=1e-5)


@pytest.mark.parametrize("rows", [(99, 5), (5, 99)], ids=["worker", "chief"])
def test_run_ends_when_data_of_one_ends(tf, site, rows):
    seen = ends(site, site.training(steps=1000, rows=tuple(min(each, 40) for each in rows)))

    assert seen == [list(range(1, 6))] * 2


@pytest.mark.smoke
def test_worker_that_stops_early_stops_the_others(tf, site):
    training = site.training(steps=10**9)
    servers, workers = site.begin_all(training)
    workers[1].wait_for_output("step 20.")

    training.end()

    assert [task.waits() for task in (*workers, *servers)] == [0, 0, 0]


def runs_end(new_site, times):
    """SyncReplicasOptimizer left its chief waiting in every one of three such runs."""
    for _ in range(times):
        site = new_site()
        assert ends(site, site.training(steps=30)) == [list(range(1, 31))] * 2


def test_runs_end_cleanly(tf, new_site):
    runs_end(new_site, times=2)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_twenty_of_twenty_runs_end_cleanly(tf, new_site):
    runs_end(new_site, times=20)
