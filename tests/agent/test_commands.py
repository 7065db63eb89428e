"""Shell commands around a script, by the real agent."""

import os
from dataclasses import replace

import pytest

from danlu.job.plan import Install, Push
from danlu.job.state import Reason

OUT = "/home/ma-user/out"
CODE = "/home/ma-user/modelarts/user-job-dir/code"


def lines(bench, files):
    return [line for line in bench.log(files).splitlines() if not line.startswith("[danlu]")]


def test_commands_run_around_script_in_its_own_place(each_bench):
    files = each_bench.plan(
        "import os\nprint('script', open('made').read().strip())\nopen('left', 'w').close()",
        before='echo before $MA_NUM_GPUS in $(basename "$PWD"); echo yes > made',
        after="echo after; ls left && python -c 'import os; print(\"DANLU_TASK\" in os.environ)'",
        env={"MA_NUM_GPUS": "0"},
    )

    outcome = each_bench.run(files)

    assert outcome.reason is Reason.DONE, each_bench.log(files)
    assert lines(each_bench, files) == ["before 0 in code", "script yes", "after", "left", "True"]


def test_folder_made_beside_fixed_paths_lasts_to_end(bench):
    name = f"/{bench.job_id}"
    files = bench.plan(
        f"print(open('{name}/x').read().strip())",
        before=f"mkdir {name} && echo kept > {name}/x",
        after=f"cat {name}/x",
    )

    outcome = bench.run(files)

    assert outcome.reason is Reason.DONE, bench.log(files)
    assert lines(bench, files) == ["kept", "kept"]
    assert not os.path.exists(name)


def test_a_command_before_that_fails_fails_the_job(bench):
    files = bench.plan("print('ran')", before="echo no; exit 3", after="echo tidy")

    outcome = bench.run(files)

    assert (outcome.reason, outcome.exit_code) == (Reason.PREPARE_FAILED, 3)
    assert outcome.failure.detail == "The prepare command ended with exit code 3."
    assert outcome.failure.last_lines[-1] == "no"
    assert lines(bench, files) == ["no", "tidy"]


@pytest.mark.parametrize("script", ["raise SystemExit(7)", "import os; os.abort()"])
def test_the_last_command_runs_after_a_failure_too(bench, script):
    files = bench.plan(script, after="echo tidy; exit 9")

    outcome = bench.run(files)

    assert outcome.reason is Reason.SCRIPT_FAILED
    assert outcome.exit_code in (7, 134)
    assert "tidy" in lines(bench, files)
    assert "The finish command ended with exit code 9; the job continues." in bench.log(files)


def test_last_command_that_fails_does_not_change_outcome(bench):
    files = bench.plan("print('ran')", after="exit 1")

    assert bench.run(files).reason is Reason.DONE


def test_what_the_last_command_writes_is_stored(bench):
    files = bench.plan(
        "pass",
        after=f"echo done > {OUT}/note",
        push=(Push(OUT, "obs://bucket/out", "train_url"),),
    )

    outcome = bench.run(files)

    assert (outcome.reason, outcome.pushed_files) == (Reason.DONE, 1)
    assert (bench.home / "store/buckets/bucket/out/note").read_text() == "done\n"


def test_last_command_runs_after_stop_within_grace(bench, until):
    files = bench.plan(
        "import time\nprint('up', flush=True)\ntime.sleep(60)", after="sleep 0.2; echo tidy"
    )
    agent = bench.start(files)
    until(lambda: "up\n" in bench.log(files))

    files.request_stop(60)
    agent.terminate()

    agent.wait(100)
    assert files.outcome().reason is Reason.STOPPED_BY_USER
    assert "tidy" in lines(bench, files)


def test_endless_last_command_is_stopped_with_grace(bench, until):
    files = bench.plan(
        "import time\nprint('up', flush=True)\ntime.sleep(60)", after="echo begun; sleep 600"
    )
    agent = bench.start(files)
    until(lambda: "up\n" in bench.log(files))

    files.request_stop(600)
    agent.terminate()
    until(lambda: "begun" in lines(bench, files))
    files.request_stop(0.1)

    agent.wait(100)
    assert files.outcome().reason is Reason.STOPPED_BY_USER
    assert bench.processes() == []


def test_stop_during_first_command_starts_nothing_more(bench, until):
    files = bench.plan("print('ran')", before="echo begun; sleep 600")
    agent = bench.start(files)
    until(lambda: "begun\n" in bench.log(files))

    files.request_stop(5)
    agent.terminate()

    agent.wait(100)
    assert files.outcome().reason is Reason.STOPPED_BY_USER
    assert "ran" not in lines(bench, files)


def test_the_first_command_comes_before_the_packages(bench):
    """KDL runs the prepare command before everything else of the user's."""
    files = bench.plan(
        "print('ran')",
        before="echo 'not a requirement' > requirements.txt",
        install=(Install(f"{CODE}/requirements.txt"),),
    )

    outcome = bench.run(files)

    assert outcome.reason is Reason.PREPARE_FAILED
    assert "requirements.txt line 1" in outcome.failure.detail


def test_a_secret_in_a_command_is_not_shown(bench):
    files = bench.plan(
        "pass", before="echo the key is $KEY", secrets={"KEY": "correct-horse-battery"}
    )

    bench.run(files)

    assert "the key is ***" in lines(bench, files)


def test_first_command_may_not_run_longer_than_job(bench):
    bench.limits = replace(bench.limits, run=1)
    files = bench.plan("print('ran')", before="echo begun; sleep 600", after="echo tidy")

    outcome = bench.run(files)

    assert outcome.reason is Reason.TIMED_OUT
    # The shell may still print the result of its own child.
    assert [line for line in lines(bench, files) if line != "Terminated"] == ["begun", "tidy"]
