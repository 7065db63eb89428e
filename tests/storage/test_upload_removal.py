"""What a script removed from its folder, and what becomes of it in the store."""

import os

import pytest

from contracts.storage import MemoryStorage
from danlu.storage.api import Manifest
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location
from danlu.storage.transfer import push
from danlu.storage.transfer.upload import SharedWrittenObjects, WrittenObjects


class Output:
    """A folder that a script writes to, and the store it is mirrored to."""

    def __init__(self, folder, storage=None):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.storage = storage or MemoryStorage()
        self.location = Location(self.storage, "out", "obs://bucket/out")
        self.known = Manifest()
        self.written = WrittenObjects()

    def save(self, step, *, keep):
        """Write a checkpoint as tf.train.Saver does, and remove those over ``keep``."""
        for part in ("data-00000-of-00001", "index"):
            (self.folder / f"model-{step}.{part}").write_text(f"{part} of {step}")
        kept = [n for n in range(1, step + 1)][-keep:]
        lines = [f'model_checkpoint_path: "model-{step}"']
        lines += [f'all_model_checkpoint_paths: "model-{each}"' for each in kept]
        (self.folder / "checkpoint.new").write_text("\n".join(lines))
        os.replace(self.folder / "checkpoint.new", self.folder / "checkpoint")
        for path in self.folder.glob("model-*"):
            if int(path.name.partition(".")[0].removeprefix("model-")) not in kept:
                path.unlink()

    def mirror(self, *, final=False):
        self.known = push(self.folder, self.location, self.known, final=final, written=self.written)

    def stored(self):
        return sorted(e.key.removeprefix("out/") for e in self.storage.list("out/"))

    def local(self):
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def output(tmp_path):
    return Output(tmp_path / "folder")


def test_store_has_checkpoints_that_folder_has(output):
    for step in range(1, 7):
        output.save(step, keep=2)
        output.mirror()
    output.mirror(final=True)

    assert output.stored() == output.local()
    assert len(output.stored()) == 5


@pytest.mark.parametrize("plain", [False, True], ids=["bucket", "folder"])
def test_folders_removed_by_the_script_are_removed(tmp_path, plain):
    """As an export of tf.estimator does: it renames a temporary folder."""
    place = tmp_path / "place"
    (place / "out" / "of-a-person").mkdir(parents=True)
    output = Output(tmp_path / "folder", FileStorage(place, plain=plain))
    export = output.folder / "export"
    for step in (1, 2):
        temporary = export / f"temp-{step}" / "variables"
        temporary.mkdir(parents=True)
        output.mirror()  # an empty folder
        (temporary / "variables.index").write_text("x")
        output.mirror()
        os.rename(export / f"temp-{step}", export / str(step))
        output.mirror(final=step == 2)
        (output.folder / "kept-empty").mkdir(exist_ok=True)

    files = [f"export/{step}/variables/variables.index" for step in (1, 2)]
    found = [key for key in output.stored() if key not in ("of-a-person/", "kept-empty/")]
    assert found == files
    assert ("of-a-person/" in output.stored()) is plain
    assert "kept-empty/" in output.stored()
    if plain:
        assert sorted(path.name for path in (place / "out" / "export").iterdir()) == ["1", "2"]


def test_objects_of_other_tasks_are_not_removed(output):
    output.storage.write("out/model-9.index", b"of an earlier job")
    output.save(1, keep=1)
    output.mirror(final=True)

    assert "model-9.index" in output.stored()


def test_objects_replaced_by_others_are_not_removed(output):
    output.save(1, keep=1)
    output.mirror()
    output.storage.write("out/model-1.index", b"of a person")
    output.save(2, keep=1)

    output.mirror(final=True)

    assert "model-1.index" in output.stored()
    assert "model-1.data-00000-of-00001" not in output.stored()


def test_nothing_is_removed_before_its_replacement_is_stored(output):
    output.save(1, keep=1)
    output.mirror()
    output.save(2, keep=1)

    class Full(Exception):
        pass

    def refuse(key, data):
        raise Full

    output.storage.write = refuse
    with pytest.raises(Full):
        output.mirror(final=True)
    assert {"model-1.index", "model-1.data-00000-of-00001", "checkpoint"} <= set(output.stored())

    del output.storage.write
    output.mirror(final=True)
    assert output.stored() == output.local()


def test_interrupted_upload_can_always_be_restored(tmp_path):
    """As with kill -9: the checkpoint that the state file names is whole at every moment."""

    class Cut(Exception):
        pass

    class Counting(MemoryStorage):
        left = 10_000

        def write(self, key, data):
            self.count()
            return super().write(key, data)

        def delete(self, key):
            self.count()
            super().delete(key)

        def count(self):
            self.left -= 1
            if self.left < 0:
                raise Cut

    for cut in range(40):
        output = Output(tmp_path / str(cut), Counting())
        output.storage.left = cut
        try:
            for step in range(1, 6):
                output.save(step, keep=1)
                output.mirror()
            output.mirror(final=True)
            ended = True
        except Cut:
            ended = False
        state = (output.storage.read("out/checkpoint") or b"").decode()
        if state:
            name = state.partition('"')[2].partition('"')[0]
            assert {f"{name}.index", f"{name}.data-00000-of-00001"} <= set(output.stored())
        if ended:
            assert output.stored() == output.local()
            return
    raise AssertionError("it was cut off every time")


def test_a_folder_that_is_gone_removes_nothing(output):
    output.save(1, keep=1)
    output.mirror()
    before = output.stored()
    for path in output.folder.iterdir():
        path.unlink()
    output.folder.rmdir()

    output.mirror()

    assert output.stored() == before


def test_files_that_state_in_store_names_stay(output):
    """A saver that removes first and names later must not leave the store without a checkpoint."""
    output.save(1, keep=1)
    output.mirror()
    for path in output.folder.glob("model-1*"):
        path.unlink()

    output.mirror()
    assert "model-1.index" in output.stored()

    output.save(2, keep=1)
    output.mirror(final=True)
    assert output.stored() == output.local()


def test_without_leave_nothing_is_removed(output):
    output.written = None
    output.save(1, keep=1)
    output.mirror()
    output.save(2, keep=1)
    output.mirror(final=True)

    assert "model-1.index" in output.stored()


def test_restarted_task_knows_its_stored_files(tmp_path):
    storage = MemoryStorage()
    chief, worker = Output(tmp_path / "chief", storage), Output(tmp_path / "worker", storage)
    chief.written = SharedWrittenObjects(chief.location, "job", "chief-0")
    worker.written = SharedWrittenObjects(worker.location, "job", "worker-0")
    (chief.folder / "model").write_text("1")
    (worker.folder / "notes").write_text("2")
    chief.mirror()
    worker.mirror()

    again = SharedWrittenObjects(chief.location, "job", "chief-0")

    assert [path for path in ("model", "notes") if again.may_be_own(path)] == ["model"]
    assert chief.stored() == ["model", "notes"]


def test_folder_of_platforms_name_is_not_stored(output):
    (output.folder / ".danlu").mkdir()
    (output.folder / ".danlu/start").write_text("x")
    (output.folder / "model").write_text("1")

    output.mirror(final=True)

    assert output.stored() == ["model"]
    assert list(output.storage.list("out/.danlu/")) == []
