"""tensorflow.examples.tutorials.mnist: the reader and the network of the tutorials."""

import gzip
import struct

import pytest

NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")
NAMES += ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx(kind, count):
    """Return an idx file whose image n has only pixels of value n, and whose label is n % 10."""
    if "images" in kind:
        pixels = b"".join(bytes([n % 256]) * 784 for n in range(count))
        return struct.pack(">4I", 2051, count, 28, 28) + pixels
    return struct.pack(">2I", 2049, count) + bytes(n % 10 for n in range(count))


@pytest.fixture
def folder(tmp_path):
    for name in NAMES:
        content = idx(name, 24 if name.startswith("train") else 6)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
    return tmp_path


def test_four_files_give_three_sets(tf, folder):
    from tensorflow.examples.tutorials.mnist import input_data

    mnist = input_data.read_data_sets(str(folder), validation_size=4)

    sizes = (mnist.train.num_examples, mnist.validation.num_examples, mnist.test.num_examples)
    assert sizes == (20, 4, 6)
    assert mnist.validation.labels.tolist() == [0, 1, 2, 3]
    assert mnist.test.images.shape == (6, 784)
    assert mnist.test.images[5, 0] == pytest.approx(5 / 255)


def test_pixels_stay_bytes_and_images_square_on_request(tf, folder):
    from tensorflow.examples.tutorials.mnist import input_data

    mnist = input_data.read_data_sets(
        str(folder), one_hot=True, reshape=False, dtype=tf.uint8, validation_size=0
    )

    assert mnist.train.images.shape == (24, 28, 28, 1)
    assert mnist.train.images[9, 3, 3, 0] == 9
    assert mnist.train.labels[13].tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]


def test_unpacked_files_are_read_under_their_usual_names(tf, folder):
    from tensorflow.examples.tutorials.mnist import input_data

    for name in NAMES:
        packed = folder / f"{name}.gz"
        (folder / name.replace("-idx", ".idx")).write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()

    assert input_data.read_data_sets(str(folder), validation_size=0).train.num_examples == 24


def test_every_example_comes_once_in_an_epoch(tf, folder):
    from tensorflow.examples.tutorials.mnist import input_data

    train = input_data.read_data_sets(str(folder), dtype=tf.uint8, validation_size=4).train

    seen = [image for _ in range(4) for image in train.next_batch(5)[0][:, 0]]

    assert sorted(seen) == list(range(4, 24))
    assert seen != list(range(4, 24))
    assert train.epochs_completed == 0


def test_batch_across_end_of_epoch_takes_from_both(tf, folder):
    from tensorflow.examples.tutorials.mnist import input_data

    train = input_data.read_data_sets(str(folder), dtype=tf.uint8, validation_size=4).train

    train.next_batch(15, shuffle=False)
    images, labels = train.next_batch(8, shuffle=False)

    assert images[:, 0].tolist() == [19, 20, 21, 22, 23, 4, 5, 6]
    assert labels.tolist() == [9, 0, 1, 2, 3, 4, 5, 6]
    assert train.epochs_completed == 1
    assert train.next_batch(2, shuffle=False)[0][:, 0].tolist() == [7, 8]


def test_a_seed_gives_the_batches_of_tensorflow_1(tf, folder):
    """The order is numpy's, seeded by the second of TensorFlow's two seeds."""
    import numpy as np
    from tensorflow.examples.tutorials.mnist import input_data

    sets = input_data.read_data_sets(str(folder), dtype=tf.uint8, validation_size=4, seed=3)

    batch = sets.train.next_batch(20)[0][:, 0]

    np.random.seed(3)
    order = np.arange(20)
    np.random.shuffle(order)
    assert batch.tolist() == (order + 4).tolist()


def test_a_missing_file_is_named_with_its_folder(tf, folder):
    from tensorflow.examples.tutorials.mnist import input_data

    (folder / "t10k-labels-idx1-ubyte.gz").unlink()

    with pytest.raises(FileNotFoundError) as caught:
        input_data.read_data_sets(str(folder))

    assert f"MNIST is not in {str(folder)!r}: t10k-labels-idx1-ubyte.gz not found" in str(
        caught.value
    )
    assert all(name in str(caught.value) for name in NAMES)


def test_default_validation_set_shrinks_with_small_training_set(tf, folder, capfd):
    from tensorflow.examples.tutorials.mnist import input_data

    mnist = input_data.read_data_sets(str(folder))

    assert (mnist.validation.num_examples, mnist.train.num_examples) == (2, 22)
    assert "hold 24 examples, the default validation set has 5000: 2" in capfd.readouterr().err


def test_validation_size_of_scripts_own_must_fit(tf, folder):
    from tensorflow.examples.tutorials.mnist import input_data

    with pytest.raises(ValueError, match=r"between 0 and 24\. Received: 25"):
        input_data.read_data_sets(str(folder), validation_size=25)


def test_a_file_of_another_kind_is_refused(tf, folder):
    from tensorflow.examples.tutorials.mnist import input_data

    (folder / "train-images-idx3-ubyte.gz").write_bytes(b"<html>not found</html>")

    with pytest.raises(ValueError, match=r"Invalid magic number \d+ in MNIST image file"):
        input_data.read_data_sets(str(folder))


def test_a_file_that_was_cut_is_refused(tf, folder):
    from tensorflow.examples.tutorials.mnist import input_data

    path = folder / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())[:-1]))

    with pytest.raises(ValueError, match="is cut short: its head promises 24 images"):
        input_data.read_data_sets(str(folder))


def test_the_network_of_the_tutorial_learns(tf, folder):
    from tensorflow.examples.tutorials.mnist import input_data, mnist

    batch = input_data.read_data_sets(str(folder), validation_size=0).train.next_batch(24)
    images = tf.placeholder(tf.float32, [None, mnist.IMAGE_PIXELS])
    labels = tf.placeholder(tf.int32, [None])
    logits = mnist.inference(images, 16, 8)
    loss = mnist.loss(logits, labels)
    train = mnist.training(loss, 0.5)
    correct = mnist.evaluation(logits, labels)
    feed = {images: batch[0], labels: batch[1]}

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss, feed)
        for _ in range(30):
            session.run(train, feed)
        assert session.run(loss, feed) < before
        assert 0 <= session.run(correct, feed) <= 24
        assert session.run("global_step:0") == 30
    assert [v.op.name for v in tf.trainable_variables()][:2] == [
        "hidden1/weights",
        "hidden1/biases",
    ]
