"""What a script sees of the machine and of other jobs, and what it cannot reach."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.agent.script.child import needed_paths
from danlu.job.state import Reason
from danlu.sandbox import entry

PROBE = [sys.executable, "-m", "danlu.sandbox.entry", "--probe"]


def test_a_probe_reports_what_works_and_leaves_nothing(tmp_path):
    folder = tmp_path / "work, new: here"
    done = subprocess.run([*PROBE, str(folder)], capture_output=True, text=True, check=True)

    found = json.loads(done.stdout)

    assert found["namespace"] == ("root" if os.geteuid() == 0 else found["namespace"])
    assert found["namespace"] in ("root", "user", "none")
    assert isinstance(found["overlay"], bool)
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another")
def test_a_probe_by_an_ordinary_user(tmp_path):
    wrapper = str(Path(__file__).with_name("unprivileged.py"))
    folder = tmp_path / "work"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    reachable = [os.path.realpath(path) for path in (sys.base_prefix, folder)]

    done = subprocess.run(
        [sys.executable, wrapper, *reachable, "--", *PROBE, str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout)["namespace"] in ("user", "none")
    assert list(folder.iterdir()) == []


def test_probe_without_folder_reports_how_to_call_it():
    done = subprocess.run(PROBE, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "--probe FOLDER" in done.stderr


def test_script_finds_machines_by_names_of_its_service(each_bench):
    look = "import socket\nprint('it is', socket.gethostbyname('algo-2'))"
    files = each_bench.plan(look, hosts={"algo-2": "127.78.33.1"})

    outcome, log = each_bench.run(files), each_bench.log(files)

    if each_bench.isolation.private_paths:
        assert "it is 127.78.33.1\n" in log
    else:
        assert outcome.failure.exception == "gaierror"
        assert "so these names cannot be resolved: algo-2=127.78.33.1\n" in log


HIDING = ("root", "user", "nobody", "copies")  # without namespaces nothing can be hidden

LOOK = """
    import json, os, sys
    home = sys.argv[1]
    seen = sorted(os.path.relpath(os.path.join(at, name), home)
                  for at, _, names in os.walk(home) for name in names)
    try:
        open(os.path.join(home, "new"), "w").close()
        seen.append("WRITTEN")
    except OSError:
        pass
    reached, pid = [], os.getpid()
    while pid > 1:  # the agent, and its parents
        pid = int(open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[1])
        if os.path.exists("/proc/%d/root%s/token" % (pid, home)):
            reached.append(pid)
    print(json.dumps({"seen": seen, "reached": reached}))
"""


@pytest.mark.parametrize("each_bench", HIDING, indirect=True)
def test_home_of_platform_is_hidden_but_for_box(each_bench):
    (each_bench.home / "token").write_text("canary")
    files = each_bench.plan(LOOK, args=(str(each_bench.home),))

    outcome = each_bench.run(files)

    assert outcome.reason is Reason.DONE, each_bench.log(files)
    found = json.loads(each_bench.log(files).splitlines()[1])
    box = os.path.relpath(each_bench.workspace() / "box", each_bench.home)
    assert found["seen"] == [f"{box}/crash.txt", f"{box}/launch.json"]
    assert found["reached"] == []


def test_two_jobs_never_see_each_others_cache(each_bench, until):
    script = """
        import os, sys, time
        print("cache", os.listdir("/cache"), flush=True)
        open("/cache/" + sys.argv[1], "w").close()
        print("now", os.listdir("/cache"), flush=True)
        time.sleep(60)
    """
    logs = []
    ids = {"one": each_bench.job_id, "two": each_bench.job_id[::-1]}
    for name, job_id in ids.items():
        each_bench.job_id = job_id
        files = each_bench.plan(script, args=(name,))
        each_bench.start(files)
        until(lambda files=files: "now [" in each_bench.log(files))
        logs.append(each_bench.log(files))

    assert "cache []\nnow ['one']\n" in logs[0]
    assert "cache []\nnow ['two']\n" in logs[1]
    for job_id in ids.values():
        each_bench.job_id = job_id
        each_bench.close()


def test_one_job_reaches_no_process_of_another(bench, until):
    name = f"danlu-test-{bench.job_id}"
    first = bench.plan(f"""
        import socket, time
        open('/cache/secret', 'w')
        listening = socket.socket(socket.AF_UNIX)
        listening.bind("\\0{name}")
        listening.listen()
        with socket.socket(socket.AF_UNIX) as own:
            own.connect("\\0{name}")
        print('ready', flush=True)
        time.sleep(60)
    """)
    bench.start(first)
    until(lambda: "ready" in bench.log(first))
    (script, *_) = bench.processes()
    bench.job_id = bench.job_id[::-1]
    second = bench.plan(f"""
        import os, socket
        reached = []
        try:
            socket.socket(socket.AF_UNIX).connect("\\0{name}")
            reached.append("socket")
        except OSError as error:
            print("socket:", type(error).__name__)
        try:
            reached.append(os.listdir("/proc/{script}/root/cache"))
        except OSError as error:
            print("files:", type(error).__name__)
        try:
            os.kill({script}, 0)
            reached.append("signal")
        except OSError as error:
            print("signal:", type(error).__name__)
        os.makedirs("/cache/a"), os.makedirs("/cache/b"), open("/cache/a/x", "w")
        os.rename("/cache/a/x", "/cache/b/x")
        print("reached", reached, os.listdir("/cache/b"))
    """)

    bench.run(second)

    assert "reached [] ['x']" in bench.log(second)
    bench.job_id = bench.job_id[::-1]
    bench.close()


def test_rest_of_machine_is_as_it_was(bench):
    files = bench.plan(
        "import os\nprint(sorted(os.listdir('/')))\nprint(os.listdir('/opt'), os.getuid())"
    )

    bench.run(files)

    lines = bench.log(files).splitlines()
    assert set(os.listdir("/")) | {"cache"} == set(eval(lines[1]))
    assert set(os.listdir("/opt")) <= set(eval(lines[2].rsplit(" ", 1)[0]))
    assert int(lines[2].rsplit(" ", 1)[1]) == os.getuid()


def test_what_script_writes_into_root_stays_its_own(bench):
    files = bench.plan("import os\nos.makedirs('/a-new-folder/deep')\nopen('/a-new-folder/x', 'w')")

    assert bench.run(files).reason is Reason.DONE
    assert not os.path.exists("/a-new-folder")


def test_changes_of_script_to_its_data_are_discarded(each_bench):
    script = """
        import os
        print(sorted(os.listdir(".")), open("notes.txt").read())
        os.remove("notes.txt")
        open("train.py", "a").write("# more")
        os.makedirs("deep/new")
    """
    each_bench.run(each_bench.plan(script, modules={"notes.txt": "n", "deep/x.py": ""}))
    each_bench.job_id = each_bench.job_id[::-1]
    files = each_bench.plan(script, modules={"notes.txt": "n", "deep/x.py": ""})

    outcome = each_bench.run(files)

    assert outcome.reason is Reason.DONE, each_bench.log(files)
    assert "['deep', 'notes.txt', 'train.py'] n\n" in each_bench.log(files)


def test_private_path_may_cover_home_of_platform(bench):
    """A private /tmp, and everything of ours below /tmp."""
    files = bench.plan(
        "import os\nprint(sorted(os.listdir('/tmp')), os.path.isdir(os.environ['DANLU_BOX']))",
        private=("/tmp", "/cache", "/home/ma-user", "/opt/ml"),
    )

    outcome = bench.run(files)

    assert outcome.reason is Reason.DONE, bench.log(files)
    ours = [str(bench.home), *needed_paths()]
    firsts = sorted({path.split("/")[2] for path in ours if path.startswith("/tmp/")})
    assert f"{firsts} True\n" in bench.log(files)


def test_an_order_survives_its_way_through_the_pipe():
    root = entry.Root(
        "/new", [("/a", "/cache")], [entry.Overlay("l", "u", "w", "/s")], [], ["/h"], [], "/box"
    )
    order = entry.LaunchOrder(1, "user", root, "", "/", ["python"], {"名": "值"})

    back = entry.LaunchOrder.load(order.dump())

    assert back.root.overlays == root.overlays
    assert (back.env, back.namespace) == (order.env, "user")


def test_python_packages_below_the_home_are_shown_again(bench, monkeypatch):
    """For an environment that is stored beside the data."""
    package = bench.home / "packages"
    package.mkdir()
    (package / "kept_module.py").write_text("value = 7\n")
    monkeypatch.setenv("PYTHONPATH", str(package), prepend=":")
    files = bench.plan(
        "import kept_module\nprint('kept', kept_module.value)", env={"PYTHONPATH": str(package)}
    )

    outcome = bench.run(files)

    assert outcome.reason is Reason.DONE, bench.log(files)
    assert "kept 7\n" in bench.log(files)
