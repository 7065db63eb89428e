"""Outputs that become one archive at the end."""

import os
import tarfile

import pytest

from danlu.agent.control import Interrupted
from danlu.agent.outputs import pack
from danlu.errors import StorageError
from danlu.job.plan import Push
from danlu.job.state import Reason

MODEL = Push("/opt/ml/model", "obs://bucket/job/output", "model", pack="model.tar.gz")
CHECKPOINTS = Push("/opt/ml/checkpoints", "obs://bucket/job/output/checkpoints", "checkpoints")


def allowed():
    pass


def stored(bench):
    folder = bench.home / "store/buckets/bucket/job/output"
    files = [p.relative_to(folder) for p in folder.rglob("*") if p.is_file()]
    return {path.as_posix() for path in files if ".danlu" not in path.parts}


def content(path):
    with tarfile.open(path) as archive:
        return {
            member.name: archive.extractfile(member).read() if member.isfile() else None
            for member in archive
        }


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    (folder / "variables").mkdir(parents=True)
    (folder / "assets").mkdir()
    (folder / "saved_model.pb").write_bytes(b"graph")
    (folder / "variables" / "权重").write_bytes(b"w" * 100_000)
    return folder


def test_an_archive_holds_what_the_folder_holds(model, tmp_path):
    pack(model, tmp_path / "a.tar.gz", allowed)

    assert content(tmp_path / "a.tar.gz") == {
        "assets": None,
        "saved_model.pb": b"graph",
        "variables/权重": b"w" * 100_000,
    }


def test_equal_files_give_equal_bytes(model, tmp_path):
    pack(model, tmp_path / "a.tar.gz", allowed)
    os.utime(model / "saved_model.pb", (1, 1))

    pack(model, tmp_path / "b.tar.gz", allowed)

    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def test_links_are_followed_inside_the_folder_only(model, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (model / "best").symlink_to("saved_model.pb")
    (model / "out").symlink_to(tmp_path / "secret")

    pack(model, tmp_path / "a.tar.gz", allowed)

    found = content(tmp_path / "a.tar.gz")
    assert found["best"] == b"graph"
    assert "out" not in found


def test_packing_ends_when_another_attempt_has_begun(model, tmp_path):
    def forbidden():
        raise Interrupted

    with pytest.raises(Interrupted):
        pack(model, tmp_path / "a.tar.gz", forbidden)


def test_a_file_that_vanishes_is_named(model, tmp_path):
    def vanish():
        (model / "saved_model.pb").unlink(missing_ok=True)

    with pytest.raises(StorageError, match=r"could not be packed: saved_model\.pb"):
        pack(model, tmp_path / "a.tar.gz", vanish)


@pytest.mark.parametrize(("ending", "reason"), [("", Reason.DONE), ("1/0", Reason.SCRIPT_FAILED)])
def test_packed_output_is_one_archive_however_script_ended(bench, ending, reason):
    files = bench.plan(f"open('/opt/ml/model/w', 'w').write('7')\n{ending}", push=(MODEL,))

    outcome = bench.run(files)

    assert (outcome.reason, outcome.pushed_files) == (reason, 1)
    assert stored(bench) == {"model.tar.gz"}
    archive = bench.home / "store/buckets/bucket/job/output/model.tar.gz"
    assert content(archive) == {"w": b"7"}


def test_output_with_nothing_in_it_becomes_no_archive(each_bench):
    files = each_bench.plan("pass", push=(MODEL,))

    outcome = each_bench.run(files)

    assert (outcome.reason, outcome.pushed_files) == (Reason.DONE, 0)
    assert stored(each_bench) == set()
    log = each_bench.log(files)
    assert "[danlu] model: " in log
    assert "/opt/ml/model is empty, so there is no model.tar.gz\n" in log


def test_packed_output_is_not_synced(bench, until):
    script = """
        import os, time
        print("found", os.listdir("/opt/ml/model"), os.listdir("/opt/ml/checkpoints"), flush=True)
        open("/opt/ml/model/w-%s" % os.environ["DANLU_ATTEMPT"], "w").close()
        open("/opt/ml/checkpoints/c", "w").close()
        print("written", flush=True)
        time.sleep(0 if os.environ["DANLU_ATTEMPT"] == "2" else 60)
    """
    first = bench.plan(script, push=(MODEL, CHECKPOINTS))
    agent = bench.start(first)
    until(lambda: "written\n" in bench.log(first))
    until(lambda: "checkpoints/c" in stored(bench))
    agent.kill()
    agent.wait()
    until(lambda: not bench.processes(1))
    second = bench.plan(script, attempt=2, push=(MODEL, CHECKPOINTS))

    outcome = bench.run(second)

    assert outcome.reason is Reason.DONE
    assert "found [] ['c']\n" in bench.log(second)
    assert "in model" not in bench.log(second)
    assert stored(bench) == {"model.tar.gz", "checkpoints/c"}
    archive = bench.home / "store/buckets/bucket/job/output/model.tar.gz"
    assert content(archive) == {"w-2": b""}
