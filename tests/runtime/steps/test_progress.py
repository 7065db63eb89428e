"""Progress in the box, with no change to the script."""

import os

from runtime.steps.training import model, told, watch


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_the_rate_is_that_of_the_last_seconds_and_the_total_that_of_the_limit(tmp_path):
    from danlu_runtime.steps.progress import Progress

    clock = Clock()
    progress = Progress(str(tmp_path), clock)
    for second in range(40):
        clock.now = 100.0 + second
        progress.tell(1 + second * 20, 1000, None)

    assert told(tmp_path)["rate"] == 20.0
    assert (told(tmp_path)["step"], told(tmp_path)["total"]) == (781, 1000)


def test_it_is_told_once_a_second_at_most(tmp_path):
    from danlu_runtime.steps.progress import Progress

    clock = Clock()
    progress = Progress(str(tmp_path), clock)

    assert progress.is_due()
    progress.tell(1, None, None)
    assert not progress.is_due()
    clock.now += 1.0
    assert progress.is_due()


def test_the_last_step_is_told_at_the_end(tmp_path):
    from danlu_runtime.steps.progress import Progress

    progress = Progress(str(tmp_path), Clock())
    progress.tell(1, None, 101)
    progress.passed(8)
    progress.finish()

    assert told(tmp_path)["step"] == 108


def test_who_is_killed_between_two_words_has_noted_its_step(tmp_path):
    from danlu.taskdir.box import Box
    from danlu_runtime.steps.progress import Progress

    clock = Clock()
    progress = Progress(str(tmp_path), clock)
    progress.passed(1)
    progress.tell(1, None, 101)
    for step in range(2, 9):
        clock.now += 0.011
        progress.passed(step)

    assert told(tmp_path)["step"] == 101
    assert Box(tmp_path).steps().step == 108


def test_a_process_that_was_forked_notes_nothing(tmp_path):
    from danlu.taskdir.box import Box
    from danlu_runtime.steps.progress import Progress

    clock = Clock()
    progress = Progress(str(tmp_path), clock)
    progress.tell(1, None, 101)
    clock.now += 1.0
    if (child := os.fork()) == 0:
        progress.passed(50)
        os._exit(0)
    os.waitpid(child, 0)

    assert Box(tmp_path).steps().step == 101


def test_a_note_that_makes_no_sense_is_passed_over(tmp_path):
    from danlu.taskdir.box import Box
    from danlu_runtime.steps.progress import Progress

    Progress(str(tmp_path), Clock()).tell(7, None, None)
    for nonsense in (b"", b"12", b"123456789", b"\xff" * 8):
        (tmp_path / "step").write_bytes(nonsense)

        assert Box(tmp_path).steps().step == 7


def test_the_smaller_of_limit_and_total_is_where_it_ends(tmp_path):
    from danlu_runtime.steps.progress import Progress

    progress = Progress(str(tmp_path), Clock())
    progress.total = 150
    progress.tell(1, 200, 101)
    assert told(tmp_path)["total"] == 150

    progress.tell(2, 10, 102)
    assert told(tmp_path)["total"] == 110


def test_a_restored_global_step_is_told(tf, monkeypatch, tmp_path):
    watch(monkeypatch, box=tmp_path)
    step = tf.train.get_or_create_global_step()
    made = model(tf, step)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(step, 7000))
        session.run(made.train)

    assert (told(tmp_path)["step"], told(tmp_path)["total"]) == (7001, None)


def test_without_a_global_step_runs_are_told(tf, monkeypatch, tmp_path):
    watch(monkeypatch, box=tmp_path)
    made = model(tf)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(made.train)

    assert told(tmp_path)["step"] == 1


def test_the_graph_of_the_script_is_not_added_to(tf, monkeypatch, tmp_path):
    watch(monkeypatch, box=tmp_path)
    made = model(tf, tf.train.get_or_create_global_step())
    start = tf.global_variables_initializer()
    tf.get_default_graph().finalize()

    with tf.Session() as session:
        session.run(start)
        session.run(made.train)

    assert told(tmp_path)["step"] == 1


def test_a_box_that_is_gone_does_not_stop_the_training(tf, monkeypatch, tmp_path, capfd):
    watch(monkeypatch, box=tmp_path / "gone")
    made = model(tf)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(made.train)
        assert session.run(made.weight) == -3.0

    assert "not counted any more" in capfd.readouterr().err
