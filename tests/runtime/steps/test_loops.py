"""Loops of scripts, as people write them, with ``DANLU_MAX_STEPS``."""

import contextlib

import pytest

from runtime.steps.training import model, total, watch


def test_save_after_limited_loop_has_last_step(tf, monkeypatch, tmp_path, capfd):
    watch(monkeypatch, limit=5)
    made = model(tf)
    saver = tf.train.Saver()

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([made.train, made.loss])[1] for _ in range(1000)]
        saver.save(session, str(tmp_path / "model"))
        saver.restore(session, str(tmp_path / "model"))
        assert session.run(made.weight) == -5.0

    assert len(losses) == 1000
    assert losses[-1] == losses[4]
    assert "[danlu] DANLU_MAX_STEPS=5 is reached" in capfd.readouterr().err


def test_epochs_continue_and_evaluations_are_real(tf, monkeypatch):
    watch(monkeypatch, limit=7)
    made = model(tf)
    given = tf.placeholder(tf.float32)
    doubled = given * 2

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        seen = []
        for epoch in range(20):
            for _ in range(10):
                session.run(made.train)
            seen.append((session.run(doubled, {given: epoch}), session.run(made.weight)))

    assert seen == [(2 * epoch, -7.0) for epoch in range(20)]


def test_a_loop_up_to_a_global_step_ends(tf, monkeypatch, tmp_path):
    watch(monkeypatch, limit=5)
    step = tf.train.get_or_create_global_step()
    made = model(tf, step)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        at = 0
        while at < 10_000:
            _, at = session.run([made.train, step])
        assert session.run(made.weight) == -5.0
        path = tf.train.Saver().save(session, str(tmp_path / "model"), global_step=step)

    assert path.endswith("model-5")


def test_summary_is_written_for_real_step_only(tf, monkeypatch, tmp_path):
    import glob

    watch(monkeypatch, limit=5)
    made = model(tf)
    summary = tf.summary.scalar("loss", made.loss)

    with tf.Session() as session, tf.summary.FileWriter(str(tmp_path)) as writer:
        session.run(tf.global_variables_initializer())
        for step in range(100):
            writer.add_summary(session.run([made.train, summary])[1], step)
        writer.add_summary(session.run(summary), 100)

    (path,) = glob.glob(f"{tmp_path}/*")
    steps = [event.step for event in tf.train.summary_iterator(path) if event.summary.value]
    assert steps == [0, 1, 2, 3, 4, 100]


def test_loop_that_reads_global_step_by_itself_ends(tf, monkeypatch):
    watch(monkeypatch, limit=5)
    step = tf.Variable(0, name="my_step", trainable=False)
    made = model(tf, step)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        while tf.train.global_step(session, step) < 1000:
            session.run(made.train)
        assert session.run(made.weight) == -5.0


def test_a_loop_without_end_ends_the_program_well(tf, monkeypatch, capfd):
    from danlu_runtime.steps import step_limit

    monkeypatch.setattr(step_limit, "RUNS", 100)
    watch(monkeypatch, limit=5)
    made = model(tf)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(SystemExit) as end:
            _for_ever(lambda: session.run(made.train))

    assert end.value.code == 0
    assert "did not end by itself" in capfd.readouterr().err


def test_loop_catching_outofrange_forever_ends_program(tf, monkeypatch):
    from danlu_runtime.steps import step_limit

    monkeypatch.setattr(step_limit, "RUNS", 100)
    watch(monkeypatch, limit=5)
    made = model(tf)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        def train():
            with contextlib.suppress(tf.errors.OutOfRangeError):
                session.run(made.train)

        with pytest.raises(SystemExit):
            _for_ever(train)


def test_loop_until_end_of_data_gets_it(tf, monkeypatch):
    watch(monkeypatch, limit=5)
    data = tf.data.Dataset.range(10**9).make_one_shot_iterator().get_next()
    weight = tf.get_variable("weight", initializer=0.0)
    loss = weight * tf.cast(data * 0 + 1, tf.float32)
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        runs = 0
        while True:
            try:
                session.run(train)
                runs += 1
            except tf.errors.OutOfRangeError:
                break
        assert session.run(weight) == -5.0

    assert runs == 5


def test_coordinator_stops_queue_runners(tf, monkeypatch):
    watch(monkeypatch, limit=5)
    made = model(tf)
    queue = tf.train.string_input_producer(["a", "b"])
    name = queue.dequeue()

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        while not coordinator.should_stop():
            session.run([made.train, name])
        # The queue is still being filled for the test after the loop.
        for _ in range(100):
            session.run(name)
        coordinator.request_stop()
        coordinator.join(threads)
        assert session.run(made.weight) == -5.0


def test_coordinator_of_evaluation_after_training_goes_on(tf, monkeypatch):
    watch(monkeypatch, limit=2)
    made = model(tf)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        trained = tf.train.Coordinator()
        while not trained.should_stop():
            session.run(made.train)

        evaluated = tf.train.Coordinator()
        assert not evaluated.should_stop()

    assert trained.should_stop()


def test_results_without_step_are_computed_without_training(tf, monkeypatch):
    watch(monkeypatch, limit=3)
    made = model(tf)
    given = tf.placeholder(tf.float32)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            session.run(made.train)
        found = session.run({"train": made.train, "more": (made.weight, [given + 1])}, {given: 41})

    assert found == {"train": None, "more": (-3.0, [42.0])}


def test_two_networks_in_turn_make_one_step(tf, monkeypatch):
    watch(monkeypatch, limit=4)
    critic, maker = model(tf, scope="critic"), model(tf, scope="maker")

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(50):
            session.run(critic.train)
            session.run(maker.train)
        assert session.run([critic.weight, maker.weight]) == [-4.0, -4.0]

    assert total() == 4


def test_operation_that_comes_after_limit_runs_once(tf, monkeypatch):
    watch(monkeypatch, limit=4)
    first, second = model(tf, scope="first"), model(tf, scope="second")

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for made in (first, second):
            for _ in range(50):
                session.run([made.train, made.loss])
        assert session.run([first.weight, second.weight]) == [-4.0, -1.0]


def test_each_loop_has_its_own_timeout(tf, monkeypatch):
    from danlu_runtime.steps import step_limit

    monkeypatch.setattr(step_limit, "RUNS", 100)
    watch(monkeypatch, limit=4)

    with tf.Session() as session:
        for scope in ("first", "second", "third"):
            made = model(tf, scope=scope)
            session.run(tf.global_variables_initializer())
            for _ in range(80):
                session.run(made.train)


def test_traceback_has_lines_of_script_and_library(tf, monkeypatch):
    import traceback

    from danlu_runtime.start.program import without_ours

    watch(monkeypatch, limit=4)
    made = model(tf)
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError) as failed:
        session.run(made.train)

    kept = traceback.extract_tb(without_ours(failed.value.__traceback__))
    assert "/steps/watch.py" not in " ".join(frame.filename for frame in kept)
    assert kept[0].line == "session.run(made.train)"


def test_trouble_of_ours_never_reaches_the_script(tf, monkeypatch, capfd):
    from danlu_runtime.steps.graph import GraphInfo

    watch(monkeypatch, limit=3)
    made = model(tf)

    def broken(self, fetches):
        raise RuntimeError("a bug")

    monkeypatch.setattr(GraphInfo, "training", broken)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(10):
            session.run(made.train)
        assert session.run(made.weight) == -10.0

    assert capfd.readouterr().err.count("no longer counted: RuntimeError: a bug") == 1


def _for_ever(act):
    while True:
        act()
