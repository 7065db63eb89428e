"""What a store refuses is an error of TensorFlow's, with a sentence."""

import io
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from danlu.errors import StorageError
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location, Stores, parse


class Elsewhere(FileStorage):
    """A bucket whose bytes are not in files of this machine, and which may refuse."""

    def __init__(self, root: Path, refusal: Exception | None = None) -> None:
        super().__init__(root, plain=False)
        self._refusal = refusal
        self.opened: list[str] = []

    def open(self, key: str) -> BinaryIO:
        self._refuse()
        self.opened.append(key)
        with super().open(key) as file:
            return io.BytesIO(file.read())

    def write(self, key: str, data: bytes | BinaryIO) -> Any:
        self._refuse()
        return super().write(key, data)

    def stat(self, key: str) -> Any:
        self._refuse()
        return super().stat(key)

    def _refuse(self) -> None:
        if self._refusal is not None:
            raise self._refusal


class One(Stores):
    """All paths lead to one bucket."""

    def __init__(self, storage: FileStorage) -> None:
        super().__init__(storage.root)
        self.storage = storage

    def at(self, uri: str) -> Location:
        return Location(self.storage, parse(uri).key, uri)


def use(storage: FileStorage) -> None:
    from danlu.storage import paths

    paths.use(One(storage))


def refused(tf: Any, call: Any) -> tuple[str, str]:
    """Return the class of the error and its sentence."""
    with pytest.raises(tf.errors.OpError) as caught:
        call()
    return type(caught.value).__name__, caught.value.message


IMPOSSIBLE = [
    (
        lambda gfile, b: gfile.GFile(f"{b}/none").read(),
        "NotFoundError",
        "There is no file and no directory 'obs://bucket/none'.",
    ),
    (
        lambda gfile, b: gfile.GFile(f"{b}/folder").read(),
        "FailedPreconditionError",
        "'obs://bucket/folder' is a directory: name a file in it.",
    ),
    (
        lambda gfile, b: gfile.GFile(f"{b}/folder/", "w").write("x"),
        "FailedPreconditionError",
        "'obs://bucket/folder/' is a directory: name a file in it.",
    ),
    (
        lambda gfile, b: gfile.remove(f"{b}/folder"),
        "FailedPreconditionError",
        "'obs://bucket/folder' is a directory: name a file in it.",
    ),
    (
        lambda gfile, b: gfile.makedirs(f"{b}/folder/file"),
        "FailedPreconditionError",
        "'obs://bucket/folder/file' is a file, not a directory.",
    ),
    (lambda gfile, b: gfile.remove(f"{b}/none"), "NotFoundError", "There is no file"),
    (lambda gfile, b: gfile.stat(f"{b}/none"), "NotFoundError", "There is no file"),
    (lambda gfile, b: gfile.rename(f"{b}/none", f"{b}/x"), "NotFoundError", "There is no file"),
    (lambda gfile, b: gfile.copy(f"{b}/none", f"{b}/x"), "NotFoundError", "There is no file"),
    (lambda gfile, b: gfile.listdir(f"{b}/none"), "NotFoundError", "obs://bucket/none"),
    (
        lambda gfile, b: gfile.rmtree(b),
        "PermissionDeniedError",
        "A whole bucket is never removed",
    ),
    (
        lambda gfile, b: gfile.exists("obs://UPPER/x"),
        "InvalidArgumentError",
        "'UPPER' in 'obs://UPPER/x' cannot be the name of a bucket.",
    ),
]


def test_what_cannot_be_done_is_reported(tf2: Any, bucket: str) -> None:
    for operation, kind, sentence in IMPOSSIBLE:
        with tf2.io.gfile.GFile(f"{bucket}/folder/file", "w") as file:
            file.write("x")
        found, message = refused(tf2, lambda operation=operation: operation(tf2.io.gfile, bucket))
        assert (found, sentence in message) == (kind, True), message


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("NoPermission", "PermissionDeniedError"),
        ("WrongKey", "UnauthenticatedError"),
        ("NoBucket", "NotFoundError"),
        ("Unreachable", "UnavailableError"),
        ("StorageError", "InternalError"),
    ],
)
def test_what_a_service_refuses_keeps_its_sentence(
    tf2: Any, tmp_path: Path, name: str, kind: str
) -> None:
    from danlu.storage.s3 import answers

    error = {"StorageError": StorageError}.get(name) or getattr(answers, name)
    use(Elsewhere(tmp_path, error("The service says no.")))

    def write() -> None:
        with tf2.io.gfile.GFile("obs://bucket/a", "w") as file:
            file.write("x")

    assert refused(tf2, write) == (kind, "The service says no.")
    assert refused(tf2, lambda: tf2.io.gfile.stat("obs://bucket/a"))[0] == kind


def test_script_of_first_generation_catches_what_it_did(tf: Any, bucket: str) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="no file and no directory"):
        tf.gfile.GFile(f"{bucket}/none").read()
    assert tf.train.latest_checkpoint(f"{bucket}/none") is None


def test_a_full_disk_stores_nothing(tf2: Any, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    full = open("/dev/full", "r+b", buffering=0)  # noqa: SIM115
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
    file = tf2.io.gfile.GFile(f"{bucket}/a", "w")
    with pytest.raises(tf2.errors.ResourceExhaustedError):
        file.write("x" * 200_000)
    with pytest.raises(tf2.errors.ResourceExhaustedError, match="nothing is stored"):
        file.close()
    assert not tf2.io.gfile.exists(f"{bucket}/a")


def test_remote_bytes_are_read_at_any_position(tf2: Any, tmp_path: Path) -> None:
    storage = Elsewhere(tmp_path)
    use(storage)
    with tf2.io.gfile.GFile("obs://bucket/a", "w") as file:
        file.write("0123456789")
    with tf2.io.gfile.GFile("obs://bucket/a") as file:
        file.seek(4)
        assert file.read(3) == "456"
        assert file.read() == "789"
    assert tf2.io.read_file("obs://bucket/a").numpy() == b"0123456789"
    assert storage.opened == ["a", "a"]


def test_a_large_tensor_elsewhere_is_read_whole(tf: Any, tmp_path: Path) -> None:
    import numpy

    use(Elsewhere(tmp_path))
    large = numpy.arange(20 << 20, dtype=numpy.float32)
    with tf.Session() as session:
        weights = tf.get_variable("weights", initializer=large)
        session.run(weights.initializer)
        path = tf.train.Saver().save(session, "obs://bucket/model.ckpt")
    reader = tf.train.load_checkpoint(path)
    assert reader.get_tensor("weights")[-1] == large[-1]
