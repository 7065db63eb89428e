"""A small network trained by its name, in one process."""

import re

import pytest
from PIL import Image


@pytest.fixture
def train(tf, tmp_path, pictures, monkeypatch):
    from moxing.tensorflow.preset import train

    pictures(tmp_path / "data", a=8, b=8)

    def call(out, name="lenet", **parameters):
        words = {"data_url": tmp_path / "data", "train_url": tmp_path / out, "batch_size": 4}
        words |= {"max_number_of_steps": 2, "image_size": 16, **parameters}
        train(name, [f"--{key}={value}" for key, value in words.items()])
        return tmp_path / out

    call.folder = tmp_path / "data"
    return call


def variables(tf, out):
    reader = tf.train.load_checkpoint(str(out))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


@pytest.mark.smoke
def test_a_model_is_trained_exported_and_served(tf, train):
    out = train("out")

    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.loader.load(session, ["serve"], str(out / "1"))
        signature = loaded.signature_def["predict_object"]
        outputs = {name: info.name for name, info in signature.outputs.items()}
        # Pictures of any size and number, as they are.
        fed = {signature.inputs["images"].name: [[[[255.0] * 3] * 40] * 30] * 5}
        served = session.run(outputs, fed)
    assert served["probabilities"].shape == (5, 2)
    assert served["label_desc"][0] == (b"a", b"b")[served["label"][0]]
    assert (out / "1" / "assets.extra" / "labels.txt").read_text() == "0: a\n1: b\n"


def test_fine_tuning_keeps_classifier_of_as_many_classes(tf, train, tmp_path):
    before = variables(tf, train("before"))

    out = train("after", checkpoint_url=tmp_path / "before", learning_rate=0, export_model="false")

    after = variables(tf, out)
    assert after["global_step"] == 2  # counted anew
    assert (after["LeNet/fc4/weights"] == before["LeNet/fc4/weights"]).all()
    assert not (out / "1").exists()


def test_fine_tuning_begins_classifier_of_other_classes_anew(tf, train, pictures, tmp_path):
    before = variables(tf, train("before"))
    pictures(tmp_path / "data", c=8)

    out = train("after", checkpoint_url=tmp_path / "before/model.ckpt-2", learning_rate=0)

    after = variables(tf, out)
    assert after["LeNet/fc4/weights"].shape[1] == 3
    assert (after["LeNet/conv1/weights"] == before["LeNet/conv1/weights"]).all()


@pytest.mark.smoke
def test_a_checkpoint_of_another_network_is_refused(train, tmp_path):
    train("before", export_model="false")

    with pytest.raises(ValueError, match="is not one of cifarnet: it has variables such as LeNet"):
        train("after", "cifarnet", checkpoint_url=tmp_path / "before", image_size=32)


@pytest.mark.smoke
def test_a_checkpoint_that_is_not_there_is_reported(train, tmp_path):
    with pytest.raises(ValueError, match="There is no checkpoint at --checkpoint_url="):
        train("after", checkpoint_url=tmp_path / "nowhere")


def test_training_stops_without_progress_or_time(tf, train):
    stalled = train("stalled", learning_rate=0, max_number_of_steps=100, patience=1, monitor="loss",
                    min_delta=100)  # fmt: skip
    late = train("late", max_number_of_steps=100, max_training_time=0)

    assert variables(tf, stalled)["global_step"] == 6  # two evaluations, of epochs of 3 steps
    assert variables(tf, late)["global_step"] == 1


def test_later_run_goes_on_and_exports_next_version(tf, train):
    train("out")

    out = train("out", max_number_of_steps=3)

    assert variables(tf, out)["global_step"] == 3
    assert (out / "2" / "saved_model.pb").exists()


def test_batch_norm_evaluates_well_after_few_steps(train, capfd):
    """With the statistics it began with, an evaluation would be as good as chance."""
    for name, red in (("a", 0), ("b", 200)):
        for path in (train.folder / name).iterdir():
            Image.new("RGB", (32, 32), (red, 20, 255 - red)).save(path)

    train("out", "resnet_v1_20", max_number_of_steps=60, evaluate_every_n_epochs=20, image_size=32)

    reported = re.search(r"METRICS\] step: 59 .*accuracy: ([0-9.]+)", capfd.readouterr().err)
    assert float(reported[1]) == 1


def test_records_are_trained_on_too(tf, train, records, tmp_path):
    records(tmp_path / "records" / "train.tfrecord", [0, 1, 2, 1])
    records(tmp_path / "records" / "eval.tfrecord", [2])

    out = train("out", data_url=tmp_path / "records", num_classes=3, data_format="NCHW")

    assert variables(tf, out)["LeNet/fc4/biases"].shape == (3,)


@pytest.mark.smoke
def test_a_program_ends_with_the_sentence_alone(tmp_path, monkeypatch):
    from moxing.tensorflow import preset

    monkeypatch.setattr("sys.argv", ["lenet.py", "--data_url=", "--train_url=t"])

    with pytest.raises(SystemExit) as caught:
        preset.main("lenet")

    assert caught.value.code == "--data_url=… must name a place, got nothing."
