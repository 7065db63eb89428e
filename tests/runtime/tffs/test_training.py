"""What a training leaves in an object store, and finds there again."""

from pathlib import Path
from typing import Any

import pytest


def train(tf: Any, steps: int = 1) -> Any:
    """Return an operation that counts; its variable is called 'count'."""
    count = tf.get_variable("count", initializer=0.0)
    return tf.assign_add(count, 1.0)


def events(home: Path, folder: str) -> list[Any]:
    """Read the events of a folder of the bucket, from the disk below the store."""
    import tensorflow.compat.v1 as tf

    found = sorted((home / "store/buckets/bucket" / folder).glob("events*"))
    return [event for path in found for event in tf.train.summary_iterator(str(path))]


def values(home: Path, folder: str) -> list[float]:
    """Return the numbers of all summaries that can be read now."""
    found = (value for event in events(home, folder) for value in event.summary.value)
    return [value.simple_value for value in found if value.HasField("simple_value")]


@pytest.mark.parametrize("folder", ["ckpt", "ckpt/", "a/b/检查点"])
def test_the_newest_checkpoints_are_kept_and_restored(tf: Any, bucket: str, folder: str) -> None:
    add = train(tf)
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(4):
            session.run(add)
            saver.save(session, f"{bucket}/{folder}/model.ckpt", global_step=step)
    kept = [name for name in tf.gfile.ListDirectory(f"{bucket}/{folder}") if "index" in name]
    assert kept == ["model.ckpt-2.index", "model.ckpt-3.index"]
    newest = tf.train.latest_checkpoint(f"{bucket}/{folder}")
    with tf.Session() as session:
        saver.restore(session, newest)
        assert session.run("count:0") == 4.0
    assert tf.train.load_variable(newest, "count") == 4.0
    assert tf.train.checkpoint_exists(newest)


def test_no_temporary_names_are_left(tf: Any, bucket: str) -> None:
    add = train(tf)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(add)
        tf.train.Saver(sharded=True).save(session, f"{bucket}/ckpt/model.ckpt")
    assert tf.gfile.ListDirectory(f"{bucket}/ckpt") == [
        "checkpoint",
        "model.ckpt.data-00000-of-00001",
        "model.ckpt.index",
        "model.ckpt.meta",
    ]


def test_summaries_are_seen_while_the_training_runs(tf: Any, bucket: str, home: Path) -> None:
    writer = tf.summary.FileWriter(f"{bucket}/log", tf.get_default_graph())
    for step in range(3):
        value = tf.Summary.Value(tag="loss", simple_value=float(step))
        writer.add_summary(tf.Summary(value=[value]), step)
        writer.flush()
        assert values(home, "log") == [float(number) for number in range(step + 1)]
    writer.close()
    assert any(event.graph_def for event in events(home, "log"))


def test_a_monitored_session_goes_on_from_the_store(tf: Any, bucket: str, home: Path) -> None:
    step = tf.train.get_or_create_global_step()
    loss = tf.cast(step, tf.float32)
    tf.summary.scalar("loss", loss)
    add = tf.assign_add(step, 1)
    for last in (3, 6):
        hooks = [tf.train.StopAtStepHook(last_step=last)]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=f"{bucket}/run", hooks=hooks, save_summaries_steps=1
        ) as session:
            while not session.should_stop():
                reached = session.run(add)
        assert reached == last
    assert tf.train.latest_checkpoint(f"{bucket}/run") == f"{bucket}/run/model.ckpt-6"
    assert len(values(home, "run")) > 3


def test_model_is_saved_and_served_from_store(tf: Any, bucket: str) -> None:
    x = tf.placeholder(tf.float32, [None], "x")
    weight = tf.get_variable("weight", initializer=3.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, f"{bucket}/model/1", {"x": x}, {"y": x * weight})
        builder = tf.saved_model.builder.SavedModelBuilder(f"{bucket}/model/2")
        builder.add_meta_graph_and_variables(session, [tf.saved_model.tag_constants.SERVING])
        builder.save()
    assert tf.gfile.ListDirectory(f"{bucket}/model") == ["1", "2"]
    assert tf.saved_model.loader.maybe_saved_model_directory(f"{bucket}/model/1")
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.loader.load(session, ["serve"], f"{bucket}/model/1")
        answer = loaded.signature_def["serving_default"].outputs["y"].name
        assert session.run(answer, {"x:0": [2.0]}).tolist() == [6.0]
    assert tf.gfile.ListDirectory(f"{bucket}/model/1/variables") == [
        "variables.data-00000-of-00001",
        "variables.index",
    ]


def test_an_estimator_lives_in_the_store(tf: Any, bucket: str) -> None:
    def data() -> Any:
        return tf.data.Dataset.from_tensors(({"x": [[1.0], [2.0]]}, [[2.0], [4.0]])).repeat()

    column = tf.feature_column.numeric_column("x")
    estimator = tf.estimator.LinearRegressor([column], model_dir=f"{bucket}/run")

    def receive() -> Any:
        inputs = {"x": tf.placeholder(tf.float32, [None, 1], "x")}
        return tf.estimator.export.ServingInputReceiver(inputs, inputs)

    exporter = tf.estimator.FinalExporter("last", receive)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(data, max_steps=20),
        tf.estimator.EvalSpec(data, steps=1, exporters=exporter, start_delay_secs=0),
    )
    assert estimator.latest_checkpoint() == f"{bucket}/run/model.ckpt-20"
    (exported,) = tf.gfile.ListDirectory(f"{bucket}/run/export/last")
    assert exported.isdigit()
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.loader.load(session, ["serve"], f"{bucket}/run/export/last/{exported}")
    again = tf.estimator.LinearRegressor([column], model_dir=f"{bucket}/run")
    again.train(data, steps=5)
    assert again.get_variable_value("global_step") == 25
    folder = again.export_saved_model(f"{bucket}/saved", receive)
    assert tf.gfile.Exists(folder.decode() + "/saved_model.pb")


def test_objects_of_second_generation_are_saved_and_loaded(
    tf2: Any, bucket: str, home: Path
) -> None:
    class Model(tf2.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = tf2.Variable(2.0)

        @tf2.function(input_signature=[tf2.TensorSpec([], tf2.float32)])
        def __call__(self, x: Any) -> Any:
            return x * self.weight

    model = Model()
    tf2.saved_model.save(model, f"{bucket}/model")
    assert tf2.saved_model.load(f"{bucket}/model")(tf2.constant(3.0)).numpy() == 6.0
    checkpoint = tf2.train.Checkpoint(model=model)
    manager = tf2.train.CheckpointManager(checkpoint, f"{bucket}/ckpt", max_to_keep=1)
    for value in (4.0, 5.0):
        model.weight.assign(value)
        manager.save()
    model.weight.assign(0.0)
    checkpoint.restore(manager.latest_checkpoint).assert_existing_objects_matched()
    assert model.weight.numpy() == 5.0
    assert len(tf2.io.gfile.glob(f"{bucket}/ckpt/*.index")) == 1
    writer = tf2.summary.create_file_writer(f"{bucket}/log")
    with writer.as_default():
        tf2.summary.scalar("loss", 1.5, step=1)
        writer.flush()
    assert [event.step for event in events(home, "log") if event.summary.value] == [1]
