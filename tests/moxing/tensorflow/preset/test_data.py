"""What a preset model finds at ``data_url``."""

import logging

import pytest


@pytest.fixture
def find(tf, asked):
    """Look, with TensorFlow's log at hand."""

    def look(*args, **kwargs):
        from moxing.tensorflow.preset import data

        tf.logging.set_verbosity(tf.logging.INFO)
        logging.getLogger("tensorflow").propagate = True
        return data.find(asked(*args, **kwargs))

    return look


def test_unsplit_folder_is_split_by_class(find, pictures, tmp_path, caplog):
    folder = pictures(tmp_path / "flowers", daisy=10, rose=20)

    found = find(folder)
    again = find(folder)

    assert "No tfrecord file is found. Raw data will be used in this job." in caplog.messages
    assert (found.train.samples, found.evaluate.samples) == (24, 6)
    assert sum(label == 0 for _, label in found.evaluate.metadata.files) == 2
    every = {*found.train.metadata.files, *found.evaluate.metadata.files}
    assert len(every) == 30
    assert again.train.metadata.files == found.train.metadata.files
    assert (found.num_classes, found.labels) == (2, ("daisy", "rose"))


def test_shares_may_leave_nothing_to_evaluate_on(find, pictures, tmp_path):
    folder = pictures(tmp_path / "flowers", daisy=4, rose=4)

    assert find(folder, split_spec="train:1").evaluate is None


@pytest.mark.parametrize("name", ["eval", "validation", "val", "test"])
def test_folders_train_and_eval_are_used(find, pictures, tmp_path, name):
    pictures(tmp_path / "flowers" / "train", aster=2, daisy=3, rose=3)
    pictures(tmp_path / "flowers" / name, daisy=1, rose=2)

    found = find(tmp_path / "flowers")

    assert (found.train.samples, found.evaluate.samples, found.num_classes) == (8, 3, 3)
    # A class that is not there must not change the numbers of the others.
    assert sorted(label for _, label in found.evaluate.metadata.files) == [1, 2, 2]


def test_class_that_only_evaluation_has_is_reported(find, pictures, tmp_path):
    pictures(tmp_path / "flowers" / "train", daisy=1, rose=1)
    pictures(tmp_path / "flowers" / "eval", daisy=1, thistle=1)

    with pytest.raises(ValueError, match=r"has classes that .*train has not: thistle"):
        find(tmp_path / "flowers")


def test_a_class_may_be_called_train(find, pictures, tmp_path):
    assert find(pictures(tmp_path / "ways", plane=5, train=5)).labels == ("plane", "train")


def test_pictures_of_one_class_are_refused(find, pictures, tmp_path):
    """A network would be right in every step, and the job succeed."""
    pictures(tmp_path / "above" / "flowers", daisy=2, rose=2)
    with pytest.raises(ValueError, match=r"one class, flowers.*\(daisy, rose\).*give the dir"):
        find(tmp_path / "above")
    with pytest.raises(ValueError, match=r"one class, a: .*each class into a directory of its own"):
        find(pictures(tmp_path / "alone", a=3))


def test_unsplit_data_set_counts_all_samples(find, pictures, tmp_path):
    """Manual, pitfall 3-4-1."""
    folder = pictures(tmp_path / "flowers", daisy=5, rose=5)

    assert find(folder, samples_per_epoch=100).train.samples == 80


def test_record_files_are_found_and_counted(find, records, tmp_path, caplog):
    for split, labels in (("train", [0, 1, 2, 1]), ("eval", [2, 0])):
        records(tmp_path / "data" / split / "part-00000-of-00001", labels)
    (tmp_path / "data" / "labels.txt").write_text("0: a\n1: b\n2: c\n")

    found = find(tmp_path / "data")

    assert "Find tfrecord files. Using tfrecord files in this job." in caplog.messages
    assert (found.train.samples, found.evaluate.samples) == (4, 2)
    assert (found.num_classes, found.labels) == (3, ("a", "b", "c"))


def test_record_files_with_numbers_are_not_counted(find, records, tmp_path, caplog):
    """Manual, pitfall 3-4-1."""
    for split in ("train", "eval"):
        records(tmp_path / split / "a.tfrecord", [0, 1])
    given = {"samples_per_epoch": 1000, "samples_per_epoch_eval": 200, "num_classes": 2}

    found = find(tmp_path, **given)

    assert (found.train.samples, found.evaluate.samples) == (1000, 200)
    assert not [line for line in caplog.messages if "extracting num_samples" in line]


def test_record_files_are_distinguished_by_name(find, records, tmp_path):
    records(tmp_path / "flowers_train_00000-of-00001.tfrecord", [0, 1, 1])
    records(tmp_path / "flowers_validation_00000-of-00001.tfrecord", [1])

    found = find(tmp_path, num_classes=2)

    assert (found.train.samples, found.evaluate.samples) == (3, 1)


def test_one_set_of_records_is_all_trained_on(find, records, tmp_path):
    records(tmp_path / "latest.tfrecord", [0, 1])

    assert find(tmp_path, num_classes=2).evaluate is None
    with pytest.raises(ValueError, match="--split_spec splits folders of pictures"):
        find(tmp_path, num_classes=2, split_spec="train:0.5,eval:0.5")


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (["a.tfrecord"], "How many classes there are is not known: give --num_classes"),
        (["train/a.tfrecord", "eval/a.txt"], "but none in .*eval"),
    ],
)
def test_records_that_lack_something_are_reported(find, records, tmp_path, files, sentence):
    for name in files:
        records(tmp_path / "data" / name, [0, 1])

    with pytest.raises(ValueError, match=sentence):
        find(tmp_path / "data")


def test_a_place_without_data_is_reported(find, tmp_path):
    with pytest.raises(ValueError, match="is not a folder; give the one with the data"):
        find(tmp_path / "nowhere")


def test_an_evaluation_has_the_numbers_of_the_training(find, pictures, tmp_path):
    """Manual, pitfall 3-1-1."""
    pictures(tmp_path / "data", b=2, d=1)
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "labels.txt").write_text("0: a\n1: b\n2: c\n3: d\n")

    found = find(tmp_path / "data", run_mode="eval", checkpoint_url=tmp_path / "before")

    assert (found.num_classes, found.evaluate.samples) == (4, 3)
    assert sorted(label for _, label in found.evaluate.metadata.files) == [1, 1, 3]
