"""/tmp, /var/tmp and /dev/shm of a task: its own, limited, and gone with it."""

import json
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.agent.script import temporary_dirs
from danlu.job.plan import Command, Isolation, Place, Task
from danlu.job.state import Reason
from danlu.settings import Settings

OWN = ("root", "user", "nobody", "copies")  # kinds of isolation that have a /tmp of their own
COVERED = ("/tmp", "/var/tmp")


@pytest.fixture
def in_tmp():
    """A folder in the machine's own /tmp, wherever the tests have theirs."""
    folder = Path(tempfile.mkdtemp(prefix="danlu-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def last_line(bench, files):
    lines = bench.log(files).splitlines()
    return json.loads(next(line for line in lines if line.startswith("{")))


LOOK = """
    import json, os, sys, tempfile
    found = {"there": {}, "temporary": tempfile.gettempdir(), "name": os.environ.get("TMPDIR")}
    for folder in ("/tmp", "/var/tmp", "/dev/shm"):
        found["there"][folder] = os.path.exists(folder + "/" + sys.argv[1])
        open(folder + "/" + sys.argv[1], "a").close()
    print(json.dumps(found))
"""


@pytest.mark.parametrize("each_bench", OWN, indirect=True)
def test_two_jobs_write_same_names_and_never_meet(each_bench, in_tmp):
    name = in_tmp.name + "-data"
    for _ in range(2):
        files = each_bench.plan(LOOK, args=(name,))
        assert each_bench.run(files).reason is Reason.DONE, each_bench.log(files)
        found = last_line(each_bench, files)
        assert not any(found["there"].values())
        each_bench.job_id = each_bench.job_id[::-1]

    assert not any(os.path.lexists(f"{folder}/{name}") for folder in ("/tmp", "/var/tmp"))
    assert not os.path.lexists(f"/dev/shm/{name}")
    # Where it lies is removed with the job.
    assert (each_bench.workspace() / "root" / "tmp" / name).exists()


@pytest.mark.parametrize("each_bench", ["none"], indirect=True)
def test_shared_tmp_without_namespaces_is_reported(each_bench, in_tmp):
    (in_tmp / "there").touch()
    script = f"import os\nprint('there', os.path.exists({str(in_tmp / 'there')!r}))"
    files = each_bench.plan(script)

    assert each_bench.run(files).reason is Reason.DONE

    reported = files.progress().isolated
    assert "there True\n" in each_bench.log(files)
    assert (reported.namespace, reported.overlay, reported.tmp, reported.shm) == (
        "none",
        False,
        False,
        0,
    )


def test_a_retry_begins_with_an_empty_tmp(bench, in_tmp):
    first = bench.plan(LOOK, args=(in_tmp.name + "-x",))
    bench.run(first)
    again = bench.plan(LOOK, args=(in_tmp.name + "-x",), attempt=2)

    bench.run(again)

    assert not any(last_line(bench, again)["there"].values())


def test_job_commands_and_script_share_one_tmp(bench):
    script = "print(open('/tmp/before').read(), open('/var/tmp/before').read())"
    files = bench.plan(script, before="echo one > /tmp/before; echo two > /var/tmp/before")

    assert bench.run(files).reason is Reason.DONE, bench.log(files)
    assert "one\n two\n" in bench.log(files)


def test_shared_memory_has_a_limit_that_is_reported(bench, monkeypatch):
    monkeypatch.setenv("DANLU_SHM_LIMIT", "1M")
    files = bench.plan("""
        import os
        size = os.statvfs("/dev/shm")
        print("size", size.f_blocks * size.f_frsize, oct(os.stat("/dev/shm").st_mode), flush=True)
        with open("/dev/shm/large", "wb") as file:
            file.write(bytes(2 << 20))
    """)

    outcome = bench.run(files)

    assert "size 1048576 0o41777\n" in bench.log(files)
    assert outcome.reason is Reason.DISK_FULL
    assert files.progress().isolated.shm == 1 << 20


def test_what_task_had_is_reported_with_its_progress(bench):
    files = bench.plan("print('hello')")
    bench.run(files)

    reported = files.progress().isolated

    assert (reported.namespace, reported.overlay, reported.tmp) == (
        bench.isolation.namespace,
        True,
        True,
    )
    assert reported.tmp_free > 0
    assert reported.shm == temporary_dirs.shm_size(Settings(home=bench.home))


def test_the_setting_gives_every_job_the_machines(bench, in_tmp, monkeypatch):
    monkeypatch.setenv("DANLU_SHARE_TMP", "true")
    monkeypatch.setenv("TMPDIR", str(in_tmp))
    (in_tmp / "there").touch()
    files = bench.plan(LOOK, args=(f"{in_tmp.name}-kept",))

    bench.run(files)

    kept = [Path(folder, f"{in_tmp.name}-kept") for folder in (*COVERED, "/dev/shm")]
    assert all(path.exists() for path in kept)
    for path in kept:
        path.unlink()
    found = last_line(bench, files)
    assert found["name"] == found["temporary"] == str(in_tmp)
    reported = files.progress().isolated
    assert (reported.tmp, reported.tmp_free, reported.shm) == (False, 0, 0)


def test_temporary_folder_of_machine_is_not_passed_on(bench, in_tmp, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(in_tmp))
    files = bench.plan(LOOK, args=("x",))

    bench.run(files)

    found = last_line(bench, files)
    assert (found["name"], found["temporary"]) == (None, "/tmp")


def test_missing_folder_is_not_passed_on(bench, in_tmp, monkeypatch):
    monkeypatch.setenv("DANLU_SHARE_TMP", "true")
    monkeypatch.setenv("TMPDIR", str(in_tmp / "gone"))
    files = bench.plan("import os\nprint('name', os.environ.get('TMPDIR'))")

    bench.run(files)

    assert "name None\n" in bench.log(files)


def test_files_named_by_environment_exist_below_tmp(bench, in_tmp, monkeypatch):
    (in_tmp / "ca.pem").write_text("trusted")
    person = in_tmp / "person"
    person.mkdir()
    monkeypatch.setenv("SSL_CERT_FILE", str(in_tmp / "ca.pem"))
    monkeypatch.setenv("HOME", str(person))
    files = bench.plan("""
        import os
        print(open(os.environ["SSL_CERT_FILE"]).read(), os.listdir(os.path.dirname(
            os.environ["SSL_CERT_FILE"])))
        open(os.path.expanduser("~/kept"), "w").close()
    """)

    assert bench.run(files).reason is Reason.DONE, bench.log(files)

    assert (person / "kept").exists()  # the home directory is the user's own
    assert "trusted ['ca.pem', 'person']" in bench.log(files).replace(
        "['person', 'ca.pem']", "['ca.pem', 'person']"
    )


def test_home_directory_above_platforms_shows_nothing_of_it(bench_at, in_tmp, monkeypatch):
    """DANLU_HOME is below HOME, and both are below /tmp."""
    bench = bench_at(in_tmp / "data" / "danlu", "root" if os.geteuid() == 0 else "user")
    bench.home.mkdir(parents=True)
    (bench.home / "token").write_text("canary")
    (in_tmp / "mine").touch()
    monkeypatch.setenv("HOME", str(in_tmp))
    files = bench.plan(
        """
        import os, sys
        print("mine", os.path.exists(os.path.expanduser("~/mine")))
        print("token", os.path.exists(sys.argv[1] + "/token"), sorted(os.listdir(sys.argv[1])))
    """,
        args=(str(bench.home),),
    )

    assert bench.run(files).reason is Reason.DONE, bench.log(files)

    assert "mine True\ntoken False ['store', 'work']\n" in bench.log(files)


def test_what_script_writes_to_file_url_stays(bench, in_tmp):
    """An output of the job that is passed as its URL is no temporary file."""
    target = in_tmp / "out"
    files = bench.plan(
        "import sys\nopen(sys.argv[1].partition('file://')[2] + '/model', 'w').write('trained')",
        args=(f"--train_url=file://{target}",),
    )

    assert bench.run(files).reason is Reason.DONE, bench.log(files)

    assert (target / "model").read_text() == "trained"


def test_path_in_machines_tmp_is_recognised(bench, in_tmp):
    (in_tmp / "data").mkdir()
    (in_tmp / "data" / "x.csv").touch()
    files = bench.plan("import sys\nopen(sys.argv[1])", args=(str(in_tmp / "data" / "x.csv"),))

    failure = bench.run(files).failure

    assert failure.exception == "FileNotFoundError"
    assert failure.hidden == str(in_tmp / "data" / "x.csv")

    nowhere = bench.plan("open('/tmp/danlu-no-such-file')", attempt=2)
    assert bench.run(nowhere).failure.hidden == ""


def test_hint_names_folder_in_machines_tmp(in_tmp, tmp_path):
    (in_tmp / "data").mkdir()
    message = f"[Errno 2] No such file or directory: '{in_tmp}/data/new.txt'"

    assert temporary_dirs.hidden_path(COVERED, message, str(tmp_path)) == f"{in_tmp}/data"
    assert temporary_dirs.hidden_path((), message, str(tmp_path)) == ""
    own = Path(f"{tmp_path}{in_tmp}/data")
    own.mkdir(parents=True)
    assert temporary_dirs.hidden_path(COVERED, message, str(tmp_path)) == ""


def test_shared_memory_is_limited_by_task_memory(tmp_path):
    place = Place("worker", 0, memory=64 << 20, isolation=Isolation("user", True))
    task = Task("j", "n", "kdl", 1, place, Command("x"))
    settings = Settings(home=tmp_path)

    assert temporary_dirs.shared_memory_size(task, settings) == 64 << 20
    free = replace(task, place=replace(place, memory=0))
    assert (
        temporary_dirs.shared_memory_size(free, settings)
        == temporary_dirs.shm_size(settings)
        > 64 << 20
    )
    assert temporary_dirs.shared_memory_size(task, replace(settings, share_tmp=True)) == 0
