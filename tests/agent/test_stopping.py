"""However a task is ended, and whatever its script started: nothing of it is left."""

import contextlib
import fcntl
import os
import signal
from dataclasses import replace

import pytest

from danlu.job.plan import Push
from danlu.job.state import Reason

TREE = """
    import os, signal, subprocess, sys, time

    def daemon():
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                while True:
                    time.sleep(60)
            os._exit(0)
        os.wait()

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    daemon()
    daemon()
    # Neither in our session nor with our marks.
    subprocess.Popen(["env", "-i", "setsid", "sleep", "SECONDS"])
    subprocess.Popen(["sleep", "SECONDS"])
    print("up", flush=True)
"""
WAIT = "    while True:\n        time.sleep(60)\n"


SECONDS = f"61.{os.getpid()}"  # distinguishes the sleepers of parallel tests


def sleepers() -> set[int]:
    """The pids of what cannot be found by a mark."""
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if SECONDS.encode() in file.read().split(b"\0"):
                        found.add(int(name))
            except OSError:
                continue
    return found


def test_a_stop_ends_a_tree_that_ignores_it(each_bench, until):
    files = each_bench.plan(TREE.replace("SECONDS", SECONDS) + WAIT)
    agent = each_bench.start(files)
    until(lambda: "up\n" in each_bench.log(files))
    until(lambda: len(sleepers()) == 2)

    files.request_stop(0.2)

    assert agent.wait(100) == 0
    outcome = files.outcome()
    assert (outcome.reason, outcome.failure.signal) == (Reason.STOPPED_BY_USER, "SIGKILL")
    assert each_bench.processes() == []
    assert sleepers() == set()


def test_task_ended_with_its_job_is_reported(bench, until):
    files = bench.plan("import time\nprint('up', flush=True)\ntime.sleep(60)")
    agent = bench.start(files)
    until(lambda: "up\n" in bench.log(files))

    files.request_stop(60, "worker-1 ended first: script failed")
    agent.send_signal(signal.SIGTERM)

    assert agent.wait(100) == 0
    assert files.outcome().reason is Reason.ENDED_WITH_JOB
    end = "[danlu] ended: with its job, because worker-1 ended first: script failed, exit code 143"
    assert end in bench.log(files)
    assert "user" not in bench.log(files)


def test_what_a_script_leaves_behind_ends_with_it(each_bench, until):
    files = each_bench.plan(TREE.replace("SECONDS", SECONDS))

    outcome = each_bench.run(files)

    assert outcome.reason is Reason.DONE
    assert each_bench.processes() == []
    assert sleepers() == set()


def test_script_may_save_its_work_in_grace_period(bench, until):
    files = bench.plan(
        """
        import signal, sys, time
        def save(*_):
            open("/home/ma-user/out/saved", "w").write("1")
            sys.exit(0)
        signal.signal(signal.SIGTERM, save)
        print("up", flush=True)
        time.sleep(60)
        """,
        push=(Push("/home/ma-user/out", "obs://bucket/out", "train_url"),),
    )
    agent = bench.start(files)
    until(lambda: "up\n" in bench.log(files))

    files.request_stop(30)
    agent.send_signal(signal.SIGTERM)

    agent.wait(100)
    outcome = files.outcome()
    assert (outcome.reason, outcome.exit_code) == (Reason.STOPPED_BY_USER, 0)
    assert (bench.home / "store/buckets/bucket/out/saved").exists()


def test_suspended_process_receives_the_stop_signal(bench, until):
    files = bench.plan(
        "import os, signal, time\nprint('up', flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)\n"
    )
    agent = bench.start(files)
    until(lambda: "up\n" in bench.log(files))

    files.request_stop(30)

    agent.wait(100)
    assert files.outcome().failure.signal == "SIGTERM"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_to_agent_is_a_stop_by_machine(bench, until, number):
    files = bench.plan("import time\nprint('up', flush=True)\ntime.sleep(60)")
    agent = bench.start(files)
    until(lambda: "up\n" in bench.log(files))

    agent.send_signal(number)

    assert agent.wait(100) == 0
    assert files.outcome().reason is Reason.KILLED
    assert bench.processes() == []


def test_a_script_that_runs_too_long_is_ended(bench):
    bench.limits = replace(bench.limits, run=0.3, grace=0.1)

    outcome = bench.run(bench.plan("import time\ntime.sleep(60)"))

    assert outcome.reason is Reason.TIMED_OUT


def test_the_script_does_not_outlive_its_agent(each_bench, until):
    files = each_bench.plan("import time\nprint('up', flush=True)\ntime.sleep(60)")
    agent = each_bench.start(files)
    until(lambda: "up\n" in each_bench.log(files))

    agent.kill()

    until(lambda: not each_bench.processes())
    assert files.outcome() is None


def test_stop_ends_fetch_that_waits_for_another(bench, until):
    """The lock is held by us: an agent that fetches the same data and takes its time."""
    bench.run(bench.plan("pass"))
    bench.job_id = bench.job_id[::-1]
    files = bench.plan("pass")
    digest = files.plan().command.fetch[0].uri.split("/")[-1].split(".")[0]
    for path in (bench.home / "cache" / "locks").glob("*"):
        path.unlink()
    lock = bench.home / "cache" / "locks" / digest
    with open(lock, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        agent = bench.start(files)
        until(lambda: files.progress() is not None)

        files.request_stop(5)

        assert agent.wait(100) == 0
    assert files.outcome().reason is Reason.STOPPED_BY_USER


def test_an_agent_that_cannot_report_ends_its_script(bench, until):
    bench.limits = replace(bench.limits, lost_after=0.5)
    files = bench.plan("import time\nprint('up', flush=True)\ntime.sleep(60)")
    agent = bench.start(files)
    until(lambda: "up\n" in bench.log(files))
    heartbeat = bench.home / "jobs" / bench.job_id / "1" / "worker-0" / "heartbeat.json"

    def is_blocked():
        """Renaming a file over a folder fails; the agent may write one before there is a folder."""
        heartbeat.unlink(missing_ok=True)
        with contextlib.suppress(FileExistsError):
            heartbeat.mkdir()
        return heartbeat.is_dir()

    until(is_blocked)

    agent.wait(100)
    assert bench.processes() == []
    assert files.outcome().reason is Reason.AGENT_LOST
