"""What a script leaves in its working directory is kept: its own files, and no others."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.job.plan import Fetch, Push
from danlu.job.state import Reason
from danlu.sandbox import kernel

TRAINS = """
    import os, helper
    os.makedirs("checkpoint")
    open("checkpoint/checkpoint", "w").write("newest")
    open("checkpoint/model.ckpt-3.index", "w").write("index")
    open("notes.txt", "w").write("notes")
    open("settings.py", "a").write("# changed")
    os.utime("helper.py")
    os.symlink("/etc/passwd", "link")
    open("/cache/elsewhere", "w").write("gone")
    os.makedirs("out", exist_ok=True)
    open("out/stored.txt", "w").write("stored")
    {then}
"""
MODULES = {"helper.py": "x = 1", "settings.py": "y = 1"}
CODE = "/home/ma-user/modelarts/user-job-dir/code"
OUT = Push(f"{CODE}/out", "obs://bucket/out", "train_url")


def kept(files):
    folder = files.store.folder / files.folder / "kept"
    there = {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert sorted(there) == [file.path for file in files.kept().files]
    return there


MADE = {
    "checkpoint/checkpoint": "newest",
    "checkpoint/model.ckpt-3.index": "index",
    "notes.txt": "notes",
    "settings.py": "y = 1# changed",
}


def test_new_and_changed_working_files_are_kept(each_bench):
    data = each_bench.home / "store/buckets/bucket/data"
    data.mkdir(parents=True)
    (data / "x.txt").write_text("numbers")
    files = each_bench.plan(
        TRAINS.format(then=""),
        modules=MODULES,
        fetch=(Fetch("obs://bucket/data", f"{CODE}/data", "data_url"),),
        push=(OUT,),
    )

    outcome = each_bench.run(files)

    assert outcome.reason is Reason.DONE, each_bench.log(files)
    assert kept(files) == MADE
    assert (outcome.kept.files, outcome.kept.models) == (4, 2)
    assert "danlu get a-job" in each_bench.log(files)
    assert outcome.stored
    assert (each_bench.home / "store/buckets/bucket/out/stored.txt").read_text() == "stored"


def test_files_of_script_that_fails_are_kept_too(bench):
    files = bench.plan(TRAINS.format(then="raise ValueError"), modules=MODULES)

    outcome = bench.run(files)

    assert outcome.reason is Reason.SCRIPT_FAILED
    assert kept(files) == MADE | {"out/stored.txt": "stored"}


def test_model_in_an_output_is_no_only_copy(bench):
    files = bench.plan(
        """
        for path in ("model.h5", "out/model.h5"):
            open(path, "w").write("the same model")
        open("other.h5", "w").write("another model!")
        """,
        push=(OUT,),
    )

    bench.run(files)

    assert {file.path: file.only for file in files.kept().files} == {
        "model.h5": False,
        "other.h5": True,
    }


def test_files_written_beside_an_output_are_kept(bench):
    outputs = "/home/ma-user/modelarts/outputs"
    files = bench.plan(
        """
        import os
        out = os.path.abspath("../../outputs/out")
        open(out + "/stored.txt", "w").write("stored")
        open(out + "model.h5", "w").write("a model")
        os.makedirs(out + "logs")
        open(out + "logs/events", "w").write("events")
        open(os.path.dirname(out) + "/other", "w").write("not kept")
        open(out + "2/stored.txt", "w").write("in another output")
        """,
        push=(
            Push(f"{outputs}/out", "obs://bucket/out", "train_url"),
            Push(f"{outputs}/out2", "obs://bucket/out2", "second"),
        ),
    )

    outcome = bench.run(files)

    log = bench.log(files)
    assert outcome.reason is Reason.DONE, log
    assert kept(files) == {
        "beside-output/outmodel.h5": "a model",
        "beside-output/outlogs/events": "events",
    }
    assert (outcome.kept.files, outcome.kept.models) == (2, 1)
    assert log.count("outmodel.h5") == 1
    assert "os.path.join" in log


@pytest.mark.parametrize("writes", [(), ("s3://bucket/log",)])
def test_files_in_folder_named_like_url_are_reported(bench, writes):
    files = bench.plan(
        """
        import os
        os.makedirs("s3://bucket/log")
        open("s3://bucket/log/model.h5", "w").write("a model")
        """,
        writes=writes,
    )

    bench.run(files)

    assert kept(files) == {"s3:/bucket/log/model.h5": "a model"}
    assert files.outcome().kept.urls == ("s3://bucket/log/model.h5",)
    log = bench.log(files)
    assert "s3://bucket/log/model.h5: not in the store, because `open` and `os` take" in log
    assert ("--urls none" in log) == bool(writes)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root")
def test_model_is_kept_though_disk_is_full(bench):
    kernel.mount("tmpfs", str(bench.home), "tmpfs", options="size=24m")
    try:
        files = bench.plan(
            """
            import os
            os.makedirs("deep/er")
            open("deep/er/model.h5", "w").write("a model")
            with open("big", "wb", buffering=0) as file:
                while True:
                    file.write(b"x" * 4096)
            """
        )

        outcome = bench.run(files)

        assert outcome.reason is Reason.DISK_FULL
        folder = files.store.folder / files.folder / "kept"
        assert (folder / "deep/er/model.h5").read_text() == "a model"
    finally:
        bench.close()
        kernel.unmount(str(bench.home))


def test_unstored_outputs_of_failed_script_are_named(bench, until):
    """The bucket becomes a file while the script runs: nothing can be written below it."""
    bench.limits = replace(bench.limits, store=1)
    script = """
        import os, time
        print("begun", flush=True)
        while not os.path.exists("/cache/go"):
            time.sleep(0.01)
        open("out/model.h5", "w").write("a model")
        raise ValueError
    """
    files = bench.plan(script, push=(OUT,))
    agent = bench.start(files)
    until(lambda: "begun" in bench.log(files))
    bucket = bench.home / "store/buckets/bucket"
    bucket.rename(bucket.with_name("away"))
    bucket.write_text("not a folder")
    (bench.workspace() / "root/cache/go").touch()
    agent.wait(60)
    outcome = files.outcome()

    assert outcome.reason is Reason.SCRIPT_FAILED
    (left,) = outcome.unstored
    assert Path(left.path, "model.h5").read_text() == "a model"
    assert not outcome.stored
    assert left.path in bench.log(files)
