"""Data sets that scripts download, from the job's inputs or from the cache."""

import gzip
import io
import json
import pickle
import tarfile
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Give the test a home, an input of the job and no way to the web."""
    for name in ("SM_CHANNEL_TRAIN", "KERAS_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DANLU_INPUTS", str(tmp_path / "input"))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("DANLU_BOX", str(tmp_path))
    (tmp_path / "input").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path


def save_mnist(path: Path, images: int = 6) -> None:
    import numpy as np

    path.parent.mkdir(parents=True, exist_ok=True)
    x, y = np.full((images, 28, 28), 7, "uint8"), np.arange(images, dtype="uint8")
    np.savez(path, x_train=x, y_train=y, x_test=x[:2], y_test=y[:2])


@pytest.mark.parametrize(
    "place",
    [
        "input/mnist.npz",
        "input/datasets/mnist.npz",
        "input/mnist/mnist.npz",
        "home/.keras/datasets/mnist.npz",
    ],
)
def test_mnist_is_taken_from_where_it_is(tf, home, place):
    from keras.datasets import mnist

    save_mnist(home / place)

    (x, y), (more, _) = mnist.load_data()

    assert (x.shape, x.max(), y.tolist(), len(more)) == ((6, 28, 28), 7, [0, 1, 2, 3, 4, 5], 2)


def test_file_with_another_hash_is_taken_and_noted(tf, home):
    from keras.datasets import mnist

    save_mnist(home / "input/mnist.npz")

    mnist.load_data()

    note = json.loads((home / "translation.jsonl").read_text())
    assert note["kind"] == "mapped"
    assert "mnist.npz is not the file Keras knows" in note["text"]


def test_an_input_goes_before_the_cache(tf, home):
    from keras.datasets import mnist

    save_mnist(home / "home/.keras/datasets/mnist.npz", images=3)
    save_mnist(home / "input/mnist.npz", images=4)

    assert len(mnist.load_data()[0][0]) == 4


def test_channels_and_keras_home_are_looked_at(tf, home, monkeypatch):
    from keras.datasets import mnist

    monkeypatch.setenv("KERAS_HOME", str(home / "cache"))
    save_mnist(home / "cache/datasets/mnist.npz", images=3)
    assert len(mnist.load_data()[0][0]) == 3

    monkeypatch.setenv("SM_CHANNEL_TRAIN", str(home / "channel"))
    save_mnist(home / "channel/mnist.npz", images=5)
    assert len(mnist.load_data()[0][0]) == 5


def test_a_whole_path_is_that_file(tf, home):
    from keras.datasets import mnist

    save_mnist(home / "elsewhere/mine.npz", images=3)

    assert len(mnist.load_data(path=str(home / "elsewhere/mine.npz"))[0][0]) == 3


def test_the_second_generation_takes_it_too(tf2, home):
    save_mnist(home / "input/mnist.npz")

    assert len(tf2.keras.datasets.mnist.load_data()[0][0]) == 6


@pytest.mark.parametrize("in_a_job", [True, False])
def test_what_is_nowhere_is_reported_in_one_line(tf, home, monkeypatch, in_a_job):
    from keras.datasets import mnist

    if not in_a_job:
        monkeypatch.delenv("DANLU_BOX")

    with pytest.raises(FileNotFoundError) as caught:
        mnist.load_data()

    text = str(caught.value)
    assert text.startswith(f"mnist.npz is in none of {home}/input, {home}/home/.keras/datasets,")
    seeds = f"curl -L --create-dirs -o {home}/home/.keras/datasets/mnist.npz https://"
    assert (seeds in text) is not in_a_job
    assert text.endswith("Put the file into an input of the job.") is in_a_job
    assert "\n" not in text


@pytest.mark.parametrize("packed", [True, False])
def test_fashion_mnist_is_four_files_packed_or_not(tf, home, packed):
    from keras.datasets import fashion_mnist

    for part, count in (("train", 4), ("t10k", 2)):
        for kind, head, each in (("labels-idx1", 8, 1), ("images-idx3", 16, 784)):
            content = bytes(head) + bytes([3]) * count * each
            name = home / "input" / f"{part}-{kind}-ubyte"
            if packed:
                name.with_suffix(".gz").write_bytes(gzip.compress(content))
            else:
                name.write_bytes(content)

    (x, y), (more, _) = fashion_mnist.load_data()

    assert (x.shape, y.tolist(), more.shape) == ((4, 28, 28), [3, 3, 3, 3], (2, 28, 28))


def cifar_files() -> dict[str, bytes]:
    import numpy as np

    def batch(count: int) -> bytes:
        data = np.full((count, 3072), 9, "uint8")
        return pickle.dumps({b"data": data, b"labels": [1] * count})

    names = [f"data_batch_{number}" for number in range(1, 6)]
    return {**{name: batch(10000) for name in names}, "test_batch": batch(3)}


@pytest.mark.parametrize("packed", [True, False])
def test_cifar_is_an_archive_or_its_folder(tf, home, packed):
    from keras.datasets import cifar10

    folder = home / "input/cifar-10-batches-py"
    if packed:
        with tarfile.open(home / "input/cifar-10-python.tar.gz", "w:gz", compresslevel=1) as file:
            for name, content in cifar_files().items():
                member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
                member.size = len(content)
                file.addfile(member, io.BytesIO(content))
    else:
        folder.mkdir()
        for name, content in cifar_files().items():
            (folder / name).write_bytes(content)

    (x, y), (more, _) = cifar10.load_data()

    assert (x.shape, y.max(), more.shape) == ((50000, 32, 32, 3), 1, (3, 32, 32, 3))


def test_words_and_homes(tf, home):
    import numpy as np
    from keras.datasets import boston_housing, imdb, reuters

    def sentences() -> object:
        texts = np.empty(4, dtype=object)
        texts[:] = [[1, 2, 3], [4, 5], [6], [7, 8, 9, 10]]
        return texts

    y = np.array([0, 1, 0, 1])
    inputs = home / "input"
    np.savez(inputs / "imdb.npz", x_train=sentences(), y_train=y, x_test=sentences(), y_test=y)
    np.savez(inputs / "reuters.npz", x=sentences(), y=y)
    np.savez(inputs / "boston_housing.npz", x=np.ones((10, 13)), y=np.arange(10.0))
    (inputs / "imdb_word_index.json").write_text(json.dumps({"good": 1}))
    (inputs / "reuters_word_index.json").write_text(json.dumps({"oil": 2}))

    (x, _), _ = imdb.load_data(num_words=100)
    (news, _), _ = reuters.load_data(test_split=0.25)
    (homes, prices), _ = boston_housing.load_data()

    assert sorted(len(text) for text in x) == [2, 3, 4, 5]
    assert imdb.get_word_index() == {"good": 1}
    assert reuters.get_word_index() == {"oil": 2}
    assert len(news) == 3
    assert (homes.shape, len(prices)) == ((8, 13), 8)


def test_get_file_gives_a_folder_that_was_unpacked(tf, home):
    from keras.utils import get_file

    (home / "input/flower_photos").mkdir()

    path = get_file("flower_photos", "https://nowhere.invalid/flower_photos.tgz", untar=True)

    assert path == str(home / "input/flower_photos")


def test_get_file_unpacks_an_archive_of_an_input(tf, home):
    from keras.utils.data_utils import get_file

    with tarfile.open(home / "input/flower_photos.tgz", "w:gz") as file:
        member = tarfile.TarInfo("flower_photos/rose.txt")
        member.size = 3
        file.addfile(member, io.BytesIO(b"red"))

    path = get_file("flower_photos", "https://nowhere.invalid/flower_photos.tgz", untar=True)

    assert Path(path, "rose.txt").read_text() == "red"


def test_get_file_downloads_what_is_not_there(tf, home):
    from keras.utils import get_file

    source = home / "remote.txt"
    source.write_text("far away")

    path = get_file("near.txt", origin=source.as_uri())

    assert path == str(home / "home/.keras/datasets/near.txt")
    assert Path(path).read_text() == "far away"


def test_weights_of_application_come_from_input(tf, home):
    import numpy as np
    from keras.applications.mobilenet import MobileNet

    arguments = {"input_shape": (128, 128, 3), "alpha": 0.25, "include_top": False}
    trained = MobileNet(weights=None, **arguments)
    trained.save_weights(str(home / "input/mobilenet_2_5_128_tf_no_top.h5"))

    model = MobileNet(weights="imagenet", **arguments)

    assert np.array_equal(model.get_weights()[0], trained.get_weights()[0])
