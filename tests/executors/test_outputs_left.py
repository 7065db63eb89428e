"""Outputs of a task whose agent was killed are found by the server itself."""

import pytest

from danlu.executors.local import LocalExecutor
from danlu.job.plan import Command, Place, Push, Task
from danlu.settings import Settings

OUT = "/home/ma-user/out"


@pytest.mark.parametrize("mapped", [False, True], ids=["private paths", "mapped paths"])
def test_outputs_with_files_in_them_are_found(tmp_path, mapped):
    settings = Settings(home=tmp_path)
    root = settings.work / "job/1/worker-0/root"
    (root / OUT[1:] / "deep").mkdir(parents=True)
    (root / OUT[1:] / "deep" / "model.h5").write_text("a model")
    (root / "empty").mkdir()
    seen = str(root) if mapped else ""
    pushed = (
        Push(seen + OUT, "obs://bucket/out", "train_url", pack="model.tar.gz"),
        Push(f"{seen}/empty", "obs://bucket/empty", "log_url"),
        Push(f"{seen}/missing", "obs://bucket/missing", "other_url"),
    )
    place = Place("worker", 0, root=seen)
    task = Task("job", "a-job", "modelarts", 1, place, Command(run="x", push=pushed))

    (left,) = LocalExecutor(settings).outputs_left(task)

    assert (left.task, left.what, left.uri) == ("worker-0", "train_url", "obs://bucket/out")
    assert (left.path, left.pack, left.host) == (str(root) + OUT, "model.tar.gz", "")
