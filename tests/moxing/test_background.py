"""A directory copied in the background."""

import subprocess
import sys
import threading

import moxing as mox
from moxing.framework.file import copying as background


def test_a_last_round_takes_what_is_new(here):
    (here / "a").write_text("1")
    copying = mox.file.background_sync_copy(here, "obs://bucket/log", seconds=3600)
    (here / "b").write_text("2")

    copying.stop()
    copying.stop()

    assert mox.file.list_directory("obs://bucket/log") == ["a", "b"]


def test_rounds_continue_and_take_only_what_has_changed(here, monkeypatch):
    rounds, seen = threading.Semaphore(0), []
    copy = background.copy_parallel

    def noting(src, dst, file_list):
        copy(src, dst, file_list=file_list)
        seen.append(sorted(file_list))
        rounds.release()

    monkeypatch.setattr(background, "copy_parallel", noting)
    (here / "a").write_text("1")
    copying = mox.file.background_sync_copy(here, "obs://bucket/log", seconds=0.01)
    assert rounds.acquire(timeout=30)
    (here / "b").write_text("22")
    assert rounds.acquire(timeout=30)
    copying.stop()

    assert seen[0] == ["a"]
    assert {name for names in seen[1:] for name in names} == {"b"}


def test_failed_round_is_logged_and_repeated(here, log):
    (here / "a").write_text("1")
    copying = mox.file.background_sync_copy(here, "obs://Not_A_Bucket/x", seconds=3600)

    copying._round()

    assert "was not copied" in log.text
    copying.stop()


def test_the_end_of_python_is_the_last_round(here):
    script = (
        "import moxing as mox, sys\n"
        "mox.file.background_sync_copy(sys.argv[1], 'obs://bucket/log')\n"
        "open(sys.argv[1] + '/late', 'w').write('x')\n"
    )
    subprocess.run([sys.executable, "-c", script, here], check=True)

    assert mox.file.read("obs://bucket/log/late") == "x"
