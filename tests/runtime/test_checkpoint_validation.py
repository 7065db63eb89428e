"""A program goes on from the newest checkpoint that is whole, whatever happened to the others."""

import pytest

STEPS = (10, 20, 30)


@pytest.fixture
def saved(tf, tmp_path):
    """A folder with three checkpoints, as a training leaves it: ``w`` is the step."""
    if tf is None:
        return tmp_path
    folder = tmp_path / "out"
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [4], initializer=tf.zeros_initializer())
        saver = tf.train.Saver()
        for step in STEPS:
            session.run(w.assign([step] * 4))
            saver.save(session, str(folder / "model.ckpt"), global_step=step)
    return folder


def found(tf, folder):
    """Return the step of what TensorFlow gives out, read as a program reads it."""
    state = tf.train.get_checkpoint_state(str(folder))
    latest = tf.train.latest_checkpoint(str(folder))
    assert (state and state.model_checkpoint_path) == latest
    return latest and int(tf.train.load_variable(latest, "w")[0])


@pytest.mark.parametrize("part", ["data-00000-of-00001", "index"])
def test_incomplete_newest_checkpoint_is_skipped(tf, saved, part, capsys):
    path = saved / f"model.ckpt-30.{part}"
    whole = path.read_bytes()

    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert found(tf, saved) == 20
    assert "[danlu] the checkpoint model.ckpt-30 is damaged and skipped" in capsys.readouterr().err

    path.write_bytes(whole)
    assert found(tf, saved) == 30


def test_file_that_names_them_may_be_cut_anywhere(tf, saved, tmp_path):
    whole = (saved / "checkpoint").read_bytes()
    folder = saved

    for size in range(len(whole)):
        folder = folder.rename(tmp_path / str(size))  # as a new process finds it
        (folder / "checkpoint").write_bytes(whole[:size])
        assert found(tf, folder) == 30, whole[:size]


@pytest.mark.parametrize("part", ["data-00000-of-00001", "index"])
def test_zeros_where_bytes_should_be_are_seen(tf, saved, part):
    """A power cut leaves the length and not the bytes."""
    path = saved / f"model.ckpt-30.{part}"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2))

    assert found(tf, saved) == 20


def test_training_restarts_without_complete_checkpoint(tf, saved, capsys):
    for path in saved.glob("*.data-*"):
        path.write_bytes(b"")

    assert found(tf, saved) is None

    assert "[danlu] no checkpoint in" in capsys.readouterr().err


def test_an_empty_folder_is_nothing_to_speak_of(tf, tmp_path, capsys):
    assert found(tf, tmp_path) is None

    assert capsys.readouterr().err == ""


def test_chosen_older_checkpoint_stays_chosen(tf, saved):
    (saved / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-10"\n')

    assert found(tf, saved) == 10


def test_moved_folder_is_whole_where_it_is_now(tf, saved, tmp_path):
    moved = saved.rename(tmp_path / "moved")

    assert found(tf, moved) == 30


def test_checkpoints_of_another_model_are_not_taken_instead(tf, saved):
    for path in saved.glob("*.data-*"):
        path.write_bytes(b"")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", initializer=1.0)
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        saver.save(session, str(saved / "best"), global_step=99, latest_filename="best_state")

    assert tf.train.latest_checkpoint(str(saved)) is None


def test_file_of_living_process_is_read_once(tf, saved):
    assert found(tf, saved) == 30
    (saved / "model.ckpt-30.data-00000-of-00001").write_bytes(b"")

    assert tf.train.latest_checkpoint(str(saved)).endswith("model.ckpt-30")


def test_rewritten_single_name_checkpoint_is_found(tf, tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=[1.0])
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        saver.save(session, str(tmp_path / "model"))
        (tmp_path / "model.data-00000-of-00001").write_bytes(b"")
        assert found(tf, tmp_path) is None

        saver.save(session, str(tmp_path / "model"))

    assert found(tf, tmp_path) == 1


def test_manager_of_tensorflow_2_resumes_from_whole_one(tf2, tmp_path):
    if tf2 is None:
        return
    step = tf2.Variable(0)
    checkpoint = tf2.train.Checkpoint(step=step)
    manager = tf2.train.CheckpointManager(checkpoint, str(tmp_path / "before"), 5)
    for number in (1, 2):
        step.assign(number)
        manager.save()
    folder = (tmp_path / "before").rename(tmp_path / "after")  # as a new process finds it
    (folder / "ckpt-2.data-00000-of-00001").write_bytes(b"")

    again = tf2.train.CheckpointManager(checkpoint, str(folder), 5)

    assert again.latest_checkpoint.endswith("ckpt-1")
    again.checkpoint.restore(again.latest_checkpoint)
    assert step.numpy() == 1
