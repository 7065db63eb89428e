"""A task from its plan to its outcome, by the real agent, with every kind of isolation."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.job.plan import Fetch, Push
from danlu.job.state import Reason
from danlu.taskdir.files import TaskDir, raise_fence

OUT = "/home/ma-user/out"
TRAIN_URL = Push(OUT, "obs://bucket/out", "train_url")

GOOD = """
    import os, sys
    out = sys.argv[1].split("=", 1)[1]
    print("cache:", os.listdir("/cache"))
    with open("/cache/scratch", "w") as f:
        f.write("mine")
    with open("train.py", "a") as f:  # a script may write beside its code
        f.write("# changed\\n")
    with open(os.path.join(out, "model.txt"), "w") as f:
        f.write("trained on " + open("/opt/ml/data/x.txt").read())
"""


def test_script_reads_data_and_outputs_are_stored(each_bench):
    data = each_bench.home / "store/buckets/bucket/data"
    data.mkdir(parents=True)
    (data / "x.txt").write_text("numbers")
    root = "" if each_bench.isolation.private_paths else str(each_bench.workspace() / "root")
    files = each_bench.plan(
        GOOD,
        args=(f"--train_url={root}{OUT}",),
        fetch=(Fetch("obs://bucket/data", "/opt/ml/data", "data_url"),),
        push=(TRAIN_URL,),
    )

    outcome = each_bench.run(files)

    assert (outcome.reason, outcome.exit_code) == (Reason.DONE, 0), each_bench.log(files)
    assert (outcome.pushed_files, outcome.pushed_bytes) == (1, 18)
    stored = each_bench.home / "store/buckets/bucket/out/model.txt"
    assert stored.read_text() == "trained on numbers"
    log = each_bench.log(files)
    assert "\ncache: []\n" in log
    assert "[danlu] data_url: 7 B in " in log
    assert log.endswith("[danlu] ended: done, exit code 0; 1 file (18 B) stored\n")
    assert each_bench.processes() == []
    cached = next((each_bench.home / "cache/trees").glob("*/train.py")).read_text()
    assert "# changed" not in cached.splitlines()


def test_outcome_has_end_time_of_the_script(bench):
    last = "import sys, time\nopen(sys.argv[1] + '/last', 'w').write(str(time.time()))"
    first = f"date +%s.%N > {OUT}/first"  # runs when the script has ended and nothing is stored
    files = bench.plan(last, args=(OUT,), after=first, push=(TRAIN_URL,))

    outcome = bench.run(files)

    stored = bench.home / "store/buckets/bucket/out"
    before, after = (float((stored / name).read_text()) for name in ("last", "first"))
    assert before <= outcome.ended <= after


def test_second_agent_of_task_leaves_it_alone(bench, until):
    files = bench.plan("import time\nprint('up', flush=True)\ntime.sleep(60)")
    first = bench.start(files)
    until(lambda: "up\n" in bench.log(files))

    second = bench.start(files)

    assert second.wait(100) == 0
    assert first.poll() is None
    assert files.agent().pid == first.pid


def test_plan_that_is_not_there_is_no_error(bench):
    files = bench.plan("pass")
    nothing = TaskDir(files.store, 7, "worker-0")

    assert bench.start(nothing).wait(100) == 0
    assert nothing.agent() is None


def test_an_agent_of_an_old_attempt_does_nothing(bench):
    files = bench.plan("pass")
    raise_fence(files.store, 2)

    assert bench.start(files).wait(100) == 0
    assert files.outcome() is None


def test_newer_attempt_ends_script_without_word(bench, until):
    files = bench.plan(
        f"import time\nopen('{OUT}/late', 'w').close()\nprint('up', flush=True)\ntime.sleep(60)",
        push=(TRAIN_URL,),
    )
    bench.limits = files.plan().limits
    agent = bench.start(files)
    until(lambda: "up\n" in bench.log(files))

    raise_fence(files.store, 2)

    assert agent.wait(100) == 0
    assert files.outcome() is None
    assert bench.processes() == []


def test_failing_line_is_named_as_user_wrote_it(each_bench):
    files = each_bench.plan(
        "import model\nmodel.build(0)\n",
        modules={"model.py": "def build(n):\n    return 1 / n\n"},
    )

    outcome = each_bench.run(files)

    assert outcome.reason is Reason.SCRIPT_FAILED
    failure = outcome.failure
    assert (failure.exception, failure.message) == ("ZeroDivisionError", "division by zero")
    assert [(f.file, f.line, f.text) for f in failure.frames] == [
        ("train.py", 2, "model.build(0)"),
        ("model.py", 2, "return 1 / n"),
    ]
    assert failure.exit_code == 1
    assert failure.last_lines[-1] == "ZeroDivisionError: division by zero"
    assert "danlu_runtime" not in "\n".join(failure.last_lines)


@pytest.mark.parametrize(
    ("script", "reason", "code", "signal"),
    [
        ("import sys; sys.exit(3)", Reason.SCRIPT_FAILED, 3, ""),
        ("import sys; sys.exit('no')", Reason.SCRIPT_FAILED, 1, ""),
        ("import os; os._exit(126)", Reason.SCRIPT_FAILED, 126, ""),
        ("import os; os.kill(os.getpid(), 9)", Reason.KILLED, 137, "SIGKILL"),
        ("import os; os._exit(143)", Reason.KILLED, 143, "SIGTERM"),
        ("raise KeyboardInterrupt", Reason.KILLED, 130, "SIGINT"),
        ("import os; os.abort()", Reason.SCRIPT_FAILED, 134, "SIGABRT"),
        ("raise MemoryError('big')", Reason.OUT_OF_MEMORY, 1, ""),
        ("raise OSError(28, 'No space left on device', '/cache/x')", Reason.DISK_FULL, 1, ""),
    ],
)
def test_ways_to_end(bench, script, reason, code, signal):
    outcome = bench.run(bench.plan(script))

    assert (outcome.reason, outcome.exit_code, outcome.failure.signal) == (reason, code, signal)


def test_a_crash_in_c_names_the_line(bench):
    outcome = bench.run(bench.plan("import ctypes\ndef f():\n    ctypes.string_at(0)\nf()\n"))

    assert outcome.failure.signal == "SIGSEGV"
    assert outcome.reason is Reason.SCRIPT_FAILED
    assert (outcome.failure.where.file, outcome.failure.where.line) == ("train.py", 3)


def test_data_that_is_not_there_is_named(bench):
    files = bench.plan("", fetch=(Fetch("obs://bucket/nothing", "/opt/ml/data", "data_url"),))

    outcome = bench.run(files)

    assert outcome.reason is Reason.FETCH_FAILED
    assert "'obs://bucket/nothing'" in outcome.failure.detail
    assert "obs://bucket/nothing" in bench.log(files)


def test_missing_working_directory_is_internal_error(bench):
    outcome = bench.run(bench.plan("", cwd="/cache/nowhere"))

    assert outcome.reason is Reason.PLATFORM_FAILED
    assert "/cache/nowhere" in outcome.failure.detail


def test_outputs_of_a_failed_script_are_stored_too(bench):
    files = bench.plan(f"open('{OUT}/half', 'w').write('1')\nraise ValueError", push=(TRAIN_URL,))

    outcome = bench.run(files)

    assert (outcome.reason, outcome.pushed_files) == (Reason.SCRIPT_FAILED, 1)
    assert (bench.home / "store/buckets/bucket/out/half").exists()


def test_output_of_lost_task_replaces_no_newer_file(bench, until):
    """Two workers share an output: the chief writes checkpoints, the other only reads them."""
    out = bench.home / "store/buckets/bucket/out"
    out.mkdir(parents=True)
    (out / "checkpoint").write_text("step 10")
    idle = "print('up', flush=True)\n__import__('time').sleep(60)"
    files = bench.plan(idle, attempt=2, push=(TRAIN_URL,))
    agent = bench.start(files)
    until(lambda: "up\n" in bench.log(files))
    (out / "checkpoint").write_text("step 20")  # the chief
    agent.kill()
    agent.wait()
    until(lambda: not bench.processes(2))

    bench.run(bench.plan("pass", attempt=3, push=(TRAIN_URL,)))

    assert (out / "checkpoint").read_text() == "step 20"


@pytest.mark.parametrize(("attempt", "restore"), [(2, False), (1, True)])
def test_interrupted_restore_leaves_no_output_files(bench, attempt, restore):
    """Its script has not run: what lies there is older than what a peer has saved since."""
    out = bench.home / "store/buckets/bucket/out"
    out.mkdir(parents=True)
    (out / "checkpoint").write_text("step 20")
    half = bench.workspace(attempt) / f"root{OUT}"
    half.mkdir(parents=True)
    (half / "checkpoint").write_text("step 10")
    (half / "half-of-a-file").write_text("x")
    push = (replace(TRAIN_URL, restore=restore),)

    bench.run(bench.plan("pass", attempt=attempt + 1, push=push))

    assert sorted(path.name for path in out.iterdir()) == [".danlu", "checkpoint"]
    assert (out / "checkpoint").read_text() == "step 20"


def test_outputs_are_mirrored_while_the_script_runs(bench, until):
    files = bench.plan(
        f"import time\nopen('{OUT}/ckpt', 'w').write('1')\ntime.sleep(60)", push=(TRAIN_URL,)
    )
    agent = bench.start(files)

    until(lambda: (bench.home / "store/buckets/bucket/out/ckpt").exists())

    assert agent.poll() is None


def test_a_retry_finds_what_earlier_attempts_left(each_bench, until):
    root = "" if each_bench.isolation.private_paths else "ROOT"
    script = """
        import os, sys, time
        out = sys.argv[1]
        print("found", sorted(os.listdir(out)), flush=True)
        open(os.path.join(out, "step-%s" % os.environ["DANLU_ATTEMPT"]), "w").write("x" * 10)
        print("written", flush=True)
        time.sleep(0 if os.environ["DANLU_ATTEMPT"] == "3" else 60)
    """
    for attempt in (1, 2):
        where = str(each_bench.workspace(attempt) / "root") if root else ""
        files = each_bench.plan(script, attempt=attempt, args=(where + OUT,), push=(TRAIN_URL,))
        agent = each_bench.start(files)
        until(lambda files=files: "written\n" in each_bench.log(files))
        agent.kill()  # the machine loses its agent; nothing may have been mirrored yet
        agent.wait()
        until(lambda attempt=attempt: not each_bench.processes(attempt))
    where = str(each_bench.workspace(3) / "root") if root else ""
    files = each_bench.plan(script, attempt=3, args=(where + OUT,), push=(TRAIN_URL,))

    outcome = each_bench.run(files)

    assert outcome.reason is Reason.DONE
    log = each_bench.log(files)
    assert "[danlu] attempt 3: found 2 files (20 B) of earlier attempts in train_url\n" in log
    assert "found ['step-1', 'step-2']\n" in log
    assert outcome.pushed_files == 3


def test_output_begins_with_stored_files_on_request(bench):
    there = bench.home / "store/buckets/bucket/out/model.ckpt"
    there.parent.mkdir(parents=True)
    there.write_text("step 7")
    files = bench.plan(
        f"print('found', open('{OUT}/model.ckpt').read())",
        push=(replace(TRAIN_URL, restore=True),),
    )

    outcome = bench.run(files)

    assert outcome.reason is Reason.DONE
    assert "[danlu] attempt 1: found 1 file (6 B) in train_url\n" in bench.log(files)
    assert "found step 7\n" in bench.log(files)


def test_secrets_reach_the_script_and_nothing_else(bench, until):
    canary = "canary-5f0c1a"
    files = bench.plan(
        "import os, time\nprint('key', os.environ['KEY'], flush=True)\n"
        "raise ValueError('bad key ' + os.environ['KEY'])",
        secrets={"KEY": canary},
    )

    outcome = bench.run(files)

    assert outcome.failure.message == "bad key ***"
    assert "key ***\n" in bench.log(files)
    # The box is the script's own; its process wrote there what it knows.
    written = [p for p in bench.home.rglob("*") if p.is_file() and p.name != "failure.json"]
    assert [path for path in written if canary.encode() in path.read_bytes()] == []


def test_password_of_proxy_reaches_script_and_no_log(bench, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://me:canary-9c2e@127.0.0.1:9")
    files = bench.plan("import os\nprint(os.environ['HTTPS_PROXY'], flush=True)")

    bench.run(files)

    assert "http://me:***@127.0.0.1:9\n" in bench.log(files)


def test_the_environment_of_a_script_is_clean(bench, monkeypatch):
    monkeypatch.setenv("DANLU_TOKEN", "not-for-scripts")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    files = bench.plan(
        "import json, os\nprint(json.dumps(dict(os.environ)))", env={"MA_NUM_GPUS": "0"}
    )
    bench.run(files)
    line = next(line for line in bench.log(files).splitlines() if line.startswith("{"))
    env = json.loads(line)

    assert env["https_proxy"] == "http://proxy:3128"
    assert env["MA_NUM_GPUS"] == "0"
    assert env["CUDA_VISIBLE_DEVICES"] == ""
    assert env["PYTHONUNBUFFERED"] == "1"
    assert {name for name in env if name.startswith("DANLU_")} == {
        *("DANLU_TASK", "DANLU_JOB_ID", "DANLU_JOB_NAME", "DANLU_ATTEMPT", "DANLU_BOX"),
        *(
            "DANLU_CODE",
            "DANLU_JOB_STARTED",
            "DANLU_LANG",
            "DANLU_PACKAGES",
            "DANLU_STORE",
            "DANLU_CARDS",
            "DANLU_OUTPUTS",
        ),
    }
    assert "PYTHONDONTWRITEBYTECODE" not in env


def test_files_and_folders_are_there_before_the_script(each_bench):
    where = "" if each_bench.isolation.private_paths else str(each_bench.workspace() / "root")
    code = "/home/ma-user/modelarts/user-job-dir/code"
    files = each_bench.plan(
        "import os, sys\nprint(os.path.isdir('/cache/made'), open(sys.argv[1]).read(),"
        " open('beside.json').read(), os.path.exists('train.py'))",
        args=(f"{where}/opt/ml/input/config.json",),
        folders=(f"{where}/cache/made",),
        files={f"{where}/opt/ml/input/config.json": "配置", f"{where}{code}/beside.json": "{}"},
    )

    outcome = each_bench.run(files)

    assert outcome.reason is Reason.DONE, each_bench.log(files)
    assert "True 配置 {} True\n" in each_bench.log(files)


def test_an_output_inside_the_code_is_stored_whole(bench):
    code = "/home/ma-user/modelarts/user-job-dir/code"
    files = bench.plan(
        "open('output/new', 'w').write('1')",
        push=(Push(f"{code}/output", "obs://bucket/out", "train_url"),),
    )

    outcome = bench.run(files)

    assert (outcome.reason, outcome.pushed_files) == (Reason.DONE, 1)


def test_fault_of_ours_is_reported_with_its_traceback(bench):
    files = bench.plan("pass")
    bench.workspace().mkdir(parents=True)
    # An unexpected error: a folder where the box writes its file.
    (bench.workspace() / "box/launch.json").mkdir(parents=True)
    (bench.workspace() / "box/launch.json/x").touch()

    outcome = bench.run(files)

    assert outcome.reason is Reason.PREPARE_FAILED
    assert "launch.json" in outcome.failure.detail


def test_broken_settings_file_does_not_stop_job(bench):
    (bench.home / "settings.toml").write_text("hearbeat = 1\n")

    assert bench.run(bench.plan("pass")).reason is Reason.DONE


def test_nothing_mounted_is_left_on_the_machine(bench):
    before = Path("/proc/mounts").read_text()

    bench.run(bench.plan("pass"))

    assert Path("/proc/mounts").read_text() == before
    shutil.rmtree(bench.workspace() / "newroot")
    assert os.path.exists("/usr")
