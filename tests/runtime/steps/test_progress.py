"""Progress in the box, with no change to the script."""

import os

from runtime.steps.training import model, reported_steps, watch


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_rate_is_recent_and_total_is_limit(tmp_path):
    from danlu_runtime.steps.progress import Progress

    clock = Clock()
    progress = Progress(str(tmp_path), clock)
    for second in range(40):
        clock.now = 100.0 + second
        progress.update(1 + second * 20, 1000, None)

    assert reported_steps(tmp_path)["rate"] == 20.0
    assert (reported_steps(tmp_path)["step"], reported_steps(tmp_path)["total"]) == (781, 1000)


def test_step_is_reported_once_a_second(tmp_path):
    from danlu_runtime.steps.progress import Progress

    clock = Clock()
    progress = Progress(str(tmp_path), clock)

    assert progress.is_due()
    progress.update(1, None, None)
    assert not progress.is_due()
    clock.now += 1.0
    assert progress.is_due()


def test_the_last_step_is_reported_at_the_end(tmp_path):
    from danlu_runtime.steps.progress import Progress

    progress = Progress(str(tmp_path), Clock())
    progress.update(1, None, 101)
    progress.passed(8)
    progress.finish()

    assert reported_steps(tmp_path)["step"] == 108


def test_kill_between_reports_keeps_the_step(tmp_path):
    from danlu.taskdir.exchange_dir import ExchangeDir
    from danlu_runtime.steps.progress import Progress

    clock = Clock()
    progress = Progress(str(tmp_path), clock)
    progress.passed(1)
    progress.update(1, None, 101)
    for step in range(2, 9):
        clock.now += 0.011
        progress.passed(step)

    assert reported_steps(tmp_path)["step"] == 101
    assert ExchangeDir(tmp_path).steps().step == 108


def test_a_process_that_was_forked_notes_nothing(tmp_path):
    from danlu.taskdir.exchange_dir import ExchangeDir
    from danlu_runtime.steps.progress import Progress

    clock = Clock()
    progress = Progress(str(tmp_path), clock)
    progress.update(1, None, 101)
    clock.now += 1.0
    if (child := os.fork()) == 0:
        progress.passed(50)
        os._exit(0)
    os.waitpid(child, 0)

    assert ExchangeDir(tmp_path).steps().step == 101


def test_note_that_makes_no_sense_is_passed_over(tmp_path):
    from danlu.taskdir.exchange_dir import ExchangeDir
    from danlu_runtime.steps.progress import Progress

    Progress(str(tmp_path), Clock()).update(7, None, None)
    for nonsense in (b"", b"12", b"123456789", b"\xff" * 8):
        (tmp_path / "step").write_bytes(nonsense)

        assert ExchangeDir(tmp_path).steps().step == 7


def test_smaller_of_limit_and_total_ends_training(tmp_path):
    from danlu_runtime.steps.progress import Progress

    progress = Progress(str(tmp_path), Clock())
    progress.total = 150
    progress.update(1, 200, 101)
    assert reported_steps(tmp_path)["total"] == 150

    progress.update(2, 10, 102)
    assert reported_steps(tmp_path)["total"] == 110


def test_a_restored_global_step_is_reported(tf, monkeypatch, tmp_path):
    watch(monkeypatch, box=tmp_path)
    step = tf.train.get_or_create_global_step()
    made = model(tf, step)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(step, 7000))
        session.run(made.train)

    assert (reported_steps(tmp_path)["step"], reported_steps(tmp_path)["total"]) == (7001, None)


def test_without_a_global_step_runs_are_reported(tf, monkeypatch, tmp_path):
    watch(monkeypatch, box=tmp_path)
    made = model(tf)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(made.train)

    assert reported_steps(tmp_path)["step"] == 1


def test_graph_of_script_is_not_added_to(tf, monkeypatch, tmp_path):
    watch(monkeypatch, box=tmp_path)
    made = model(tf, tf.train.get_or_create_global_step())
    start = tf.global_variables_initializer()
    tf.get_default_graph().finalize()

    with tf.Session() as session:
        session.run(start)
        session.run(made.train)

    assert reported_steps(tmp_path)["step"] == 1


def test_box_that_is_gone_does_not_stop_training(tf, monkeypatch, tmp_path, capfd):
    watch(monkeypatch, box=tmp_path / "gone")
    made = model(tf)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(made.train)
        assert session.run(made.weight) == -3.0

    assert "no longer counted" in capfd.readouterr().err


def finish():
    from danlu_runtime.steps.session_monitor import current

    current().progress.finish()


def trained(session, made, saver, path, numbers):
    for number in numbers:
        session.run(made.train)
        if number % 10 == 0:
            saver.save(session, path, global_step=number)


def test_resumed_loop_without_global_step_shows_own_step(tf, monkeypatch, tmp_path):
    watch(monkeypatch, box=tmp_path)
    made, saver, path = model(tf), tf.train.Saver(), str(tmp_path / "out" / "model.ckpt")
    (tmp_path / "out").mkdir()

    with tf.Session() as session:  # what an earlier attempt has left
        session.run(tf.global_variables_initializer())
        saver.save(session, path, global_step=10)
    with tf.Session() as session:
        saver.restore(session, tf.train.latest_checkpoint(str(tmp_path / "out")))
        trained(session, made, saver, path, range(11, 41))
    finish()

    assert reported_steps(tmp_path)["step"] == 40


def test_model_trained_further_elsewhere_counts_its_own_steps(tf, monkeypatch, tmp_path):
    watch(monkeypatch, box=tmp_path)
    made, saver = model(tf), tf.train.Saver()
    for name in ("given", "out"):
        (tmp_path / name).mkdir()

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        given = saver.save(session, str(tmp_path / "given" / "m"), global_step=50_000)
        saver.restore(session, given)
        trained(session, made, saver, str(tmp_path / "out" / "m"), range(50_001, 50_011))
    finish()
    assert reported_steps(tmp_path)["step"] == 10


def test_global_step_of_graph_is_shown_after_restore(tf, monkeypatch, tmp_path):
    watch(monkeypatch, box=tmp_path)
    step = tf.train.get_or_create_global_step()
    made, saver, path = model(tf, step), tf.train.Saver(), str(tmp_path / "m")

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(step, 700))
        saver.restore(session, saver.save(session, path, global_step=3))
        session.run(made.train)
        saver.save(session, path, global_step=9_000)

    assert reported_steps(tmp_path)["step"] == 701


def test_epoch_in_checkpoints_name_is_no_step(tf, monkeypatch, tmp_path):
    watch(monkeypatch, box=tmp_path)
    made, saver, path = model(tf), tf.train.Saver(), str(tmp_path / "m")

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saver.restore(session, saver.save(session, path, global_step=1))
        for _ in range(5):
            session.run(made.train)
        saver.save(session, path, global_step=2)
    finish()
    assert reported_steps(tmp_path)["step"] == 5
