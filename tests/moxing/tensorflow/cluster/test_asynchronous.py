"""Without synchronous steps every worker goes at its own pace."""


def test_every_workers_step_counts(tf, site):
    servers, workers = site.begin_all(site.training(steps=60), sync_replicas=False)

    codes = [task.waits() for task in (*workers, *servers)]

    assert codes == [0, 0, 0]
    steps = [len(task.value) for task in workers]
    assert min(steps) > 0
    assert sum(steps) == max(task.value[-1] for task in workers)


def test_only_chief_counts_where_that_is_asked_for(tf, site):
    flags = {"sync_replicas": False, "chief_inc_global_step": True}
    servers, workers = site.begin_all(site.training(steps=40), **flags)

    codes = [task.waits() for task in (*workers, *servers)]

    assert codes == [0, 0, 0]
    assert workers[0].value == list(range(1, 41))


def test_chief_lets_others_finish_before_its_last_checkpoint(tf, site):
    """Its own data are over first; theirs are trained on, and are in the checkpoint."""
    training = site.training(steps=10**6, rows=(2, 40), saved=True)
    servers, workers = site.begin_all(training, sync_replicas=False)

    codes = [task.waits() for task in (*workers, *servers)]

    assert codes == [0, 0, 0]
    assert site.weights["global_step"] == 42


def test_chief_does_not_wait_for_missing_worker(tf, site):
    training = site.training(steps=5)
    server = site.begin("ps", 0, training, sync_replicas=False)
    chief = site.begin("worker", 0, training, sync_replicas=False)

    assert chief.waits() == 0
    assert server.poll() is None  # the other may still come
    late = site.begin("worker", 1, training, sync_replicas=False)
    assert [late.waits(), server.waits()] == [0, 0]
