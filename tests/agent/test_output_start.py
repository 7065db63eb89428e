"""What a script finds in an output that earlier jobs have used, and what becomes of that."""

from dataclasses import replace

import pytest

from danlu.job.plan import Push
from danlu.job.state import Reason
from danlu.storage.locate import Stores

OUT = "/home/ma-user/out"
TRAIN_URL = Push(OUT, "obs://bucket/out", "train_url")

FOUND = f"""
    import os
    found = sorted(os.path.relpath(os.path.join(at, name), "{OUT}")
                   for at, _, names in os.walk("{OUT}") for name in names)
    print("found", found, flush=True)
"""


@pytest.fixture
def place(bench):
    """The folder of the output in the embedded store."""
    folder = bench.home / "store/buckets/bucket/out"
    folder.mkdir(parents=True)
    return folder


def leave(place, **files):
    """Write what an earlier job left; a dot in a name is ``__``."""
    for name, text in files.items():
        path = place / name.replace("__", ".").replace("_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def earlier_job(place):
    state = 'model_checkpoint_path: "/old/folder/model-30"\n'
    leave(place, checkpoint=state)
    for part in ("index", "data-00000-of-00001"):
        (place / f"model-30.{part}").write_text(part)
        (place / f"model-20.{part}").write_text(part)
    leave(place, export_1_saved__model__pb="x", log__txt="old")
    (place / "export/1/saved_model.pb").write_text("graph")


def names(folder):
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and ".danlu" not in path.parts
    )


GIVEN = [
    "checkpoint",
    "export/1/saved.model.pb",
    "export/1/saved_model.pb",
    "model-30.data-00000-of-00001",
    "model-30.index",
]


def test_script_begins_with_checkpoints_of_earlier_jobs(bench, place):
    earlier_job(place)
    files = bench.plan(FOUND + f"    print(open('{OUT}/checkpoint').read())", push=(TRAIN_URL,))

    outcome = bench.run(files)

    log = bench.log(files)
    assert outcome.reason is Reason.DONE, log
    assert f"found {GIVEN}\n" in log
    assert 'model_checkpoint_path: "model-30"\n' in log  # relative to where it lies now
    assert (
        "[danlu] train_url: of what earlier jobs left in obs://bucket/out, the script gets "
        "5 files (" in log
    )
    assert "checkpoints and numbered exports; 3 files (" in log
    assert ") not downloaded\n" in log
    assert outcome.pushed_files == 0
    assert names(place) == sorted(
        [*GIVEN, "log.txt", "model-20.data-00000-of-00001", "model-20.index"]
    )
    assert "/old/folder" in (place / "checkpoint").read_text()


def test_every_attempt_begins_with_same_of_earlier_jobs(bench, place, until):
    """An attempt that is killed before it writes anything is no reason to bring more."""
    earlier_job(place)
    for attempt in (1, 2):
        files = bench.plan(
            FOUND + "    import time; time.sleep(60)", attempt=attempt, push=(TRAIN_URL,)
        )
        agent = bench.start(files)
        until(lambda files=files: "found [" in bench.log(files))
        agent.kill()
        agent.wait()
        until(lambda attempt=attempt: not bench.processes(attempt))
        assert f"found {GIVEN}\n" in bench.log(files)


def test_retry_does_not_find_files_of_first_attempt(bench, place, until):
    leave(place, model__h5="of an earlier job")
    script = FOUND + f"    open('{OUT}/own', 'w').write('1')\n    print('up', flush=True)\n"
    first = bench.plan(script + "    import time; time.sleep(60)", push=(TRAIN_URL,))
    agent = bench.start(first)
    until(lambda: "up\n" in bench.log(first) and (place / "own").exists())
    agent.kill()
    agent.wait()
    until(lambda: not bench.processes(1))

    second = bench.plan(FOUND, attempt=2, push=(TRAIN_URL,))
    bench.run(second)

    assert "found []\n" in bench.log(first)
    assert "found ['own']\n" in bench.log(second)
    assert (place / "model.h5").read_text() == "of an earlier job"


def test_what_script_replaces_of_earlier_job_is_kept(bench, place):
    leave(place, model__h5="old", other="stays")
    files = bench.plan(f"open('{OUT}/model.h5', 'w').write('new')", push=(TRAIN_URL,))

    bench.run(files)

    assert (place / "model.h5").read_text() == "new"
    kept = place / f".danlu/previous/{bench.job_id}"
    assert names(kept) == []  # below .danlu, which is passed over here
    assert [path.name for path in kept.iterdir()] == ["model.h5"]
    assert (kept / "model.h5").read_text() == "old"


def test_an_archive_that_is_replaced_is_kept(bench, place):
    leave(place, model__tar__gz="old")
    item = replace(TRAIN_URL, pack="model.tar.gz")
    files = bench.plan(f"open('{OUT}/model.h5', 'w').write('new')", push=(item,))

    outcome = bench.run(files)

    assert outcome.reason is Reason.DONE
    assert (place / "model.tar.gz").read_bytes() != b"old"
    assert (place / f".danlu/previous/{bench.job_id}/model.tar.gz").read_text() == "old"


def test_files_written_by_url_are_kept(bench, place):
    leave(place, model="old", gone="old too")
    script = """
        import moxing as mox
        mox.file.write("obs://bucket/out/model", "new")
        mox.file.remove("s3://bucket/out/gone")
        print("listed", mox.file.list_directory("obs://bucket/out", recursive=True))
    """
    files = bench.plan(script, writes=("obs://bucket/out",))

    outcome = bench.run(files)

    assert outcome.reason is Reason.DONE, bench.log(files)
    assert "listed ['model']\n" in bench.log(files)
    assert (place / "model").read_text() == "new"
    kept = place / f".danlu/previous/{bench.job_id}"
    assert {path.name: path.read_text() for path in kept.iterdir()} == {
        "model": "old",
        "gone": "old too",
    }


def test_removed_local_copy_keeps_file_in_store(bench, place):
    earlier_job(place)
    before = names(place)
    files = bench.plan(f"import os\nos.remove('{OUT}/model-30.index')", push=(TRAIN_URL,))

    bench.run(files)

    assert names(place) == before


SAVER = f"""
    import os, sys, time
    def save(step, keep=2):
        for part in ("data-00000-of-00001", "index"):
            open("{OUT}/model-%d.%s" % (step, part), "w").write("%s %d" % (part, step))
        kept = list(range(1, step + 1))[-keep:]
        with open("{OUT}/state", "w") as f:
            f.write('model_checkpoint_path: "model-%d"\\n' % step)
            f.writelines('all_model_checkpoint_paths: "model-%d"\\n' % k for k in kept)
        os.replace("{OUT}/state", "{OUT}/checkpoint")
        for name in os.listdir("{OUT}"):
            if name.startswith("model-") and int(name.split(".")[0][6:]) not in kept:
                os.remove("{OUT}/" + name)
"""


def test_checkpoints_removed_by_saver_are_removed_remotely(bench, place, until):
    first = bench.plan(
        SAVER + "    save(1); save(2); print('up', flush=True); time.sleep(60)",
        push=(TRAIN_URL,),
    )
    agent = bench.start(first)
    until(lambda: (place / "model-2.index").exists() and (place / "checkpoint").exists())
    agent.kill()
    agent.wait()
    until(lambda: not bench.processes(1))
    second = bench.plan(SAVER + "    save(3); save(4)", attempt=2, push=(TRAIN_URL,))

    outcome = bench.run(second)

    assert outcome.reason is Reason.DONE, bench.log(second)
    assert names(place) == sorted(
        [
            "checkpoint",
            *(f"model-{n}.{p}" for n in (3, 4) for p in ("data-00000-of-00001", "index")),
        ]
    )


def test_starting_point_is_that_of_first_attempt(bench, place):
    """Also if another job has used the store since."""
    files = bench.plan("pass", push=(TRAIN_URL,))
    bench.run(files)

    start = Stores(bench.home / "store").at("obs://bucket/out/")

    assert start.storage.read(f"out/.danlu/start/{bench.job_id}.json") is not None
    assert start.is_empty()
