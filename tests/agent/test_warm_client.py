"""The same scripts in a process of their own and in a fork of a waiting one."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from danlu.agent.script.processes import Processes
from danlu.agent.script.warm_client import WarmPoolClient, WarmProcess
from danlu.executors.warm_pool import WarmPool
from danlu.job.state import Reason
from danlu.job.status import Outcome
from danlu.sandbox.entry import LaunchOrder
from danlu.taskdir.files import TaskDir
from danlu.taskdir.processes import started
from danlu.taskdir.warm_protocol import GIVEN_UP, WarmProcessSpec, address

CODE = "/home/ma-user/modelarts/user-job-dir/code"
PROBE = Path(__file__).with_name("warm_probe.py")
ENVIRONMENT = {"DANLU_TENSORFLOW": "1.15.5", "DANLU_CODE": CODE, "HOME": "/home/ma-user"}
IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
WARM = "[danlu] started warm: TensorFlow was loaded already\n"
Until = Callable[..., None]
BEST = "root" if os.geteuid() == 0 else "user"


class Home:
    """A home in which a process waits, and one in which none does."""

    def __init__(self, folder: Path, bench_at: Any) -> None:
        self.warm, self.cold = folder / "warm", folder / "cold"
        for home in (self.warm, self.cold):
            home.mkdir()
        self.waiting = WarmPool(self.warm, 1, lambda: 1 << 40)
        self._bench_at = bench_at
        self.pid = 0

    def bench(self, *, warm: bool = True, kind: str = BEST) -> Any:
        return self._bench_at(self.warm if warm else self.cold, kind)

    def begin(self) -> None:
        """Request a warm process, as the first task does, and wait until it listens."""
        bench = self.bench()
        bench.run(plan(bench, "print('hello')"))
        with deaf():
            self.waiting.reconcile()
        (process,) = self.waiting.processes()
        self.pid = process.pid
        deadline = time.monotonic() + 240
        while not list(self.warm.glob("warm/*.sock")):
            assert process.poll() is None, [p.read_text() for p in self.warm.glob("warm/*.log")]
            assert time.monotonic() < deadline, "it does not listen"
            time.sleep(0.05)


@contextlib.contextmanager
def deaf() -> Iterator[None]:
    """Be as a server that nohup started, in the background of a script, with a signal blocked."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in IGNORED}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, bench_at: Any) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("homes"), bench_at)
    try:
        made.begin()
        yield made
    finally:
        made.waiting.close()


def plan(bench: Any, script: str, **command: object) -> TaskDir:
    """A task of the first generation of TensorFlow."""
    root = "" if bench.isolation.private_paths else str(bench.workspace() / "root")
    given = command.pop("env", {})
    env = {**ENVIRONMENT, "DANLU_CODE": root + CODE, "HOME": f"{root}/home/ma-user", **given}  # type: ignore[dict-item]
    return bench.plan(script, env=env, **command)  # type: ignore[arg-type]


def run(
    home: Home, script: str, *, warm: bool, kind: str = BEST, **env: str
) -> tuple[Outcome, str]:
    """Return how a script ended and what it printed."""
    bench = home.bench(warm=warm, kind=kind)
    files = plan(bench, script, env=env)
    outcome = bench.run(files)
    log = bench.log(files)
    assert (WARM in log) == warm, log
    for own, any_ in ((str(bench.home), "HOME"), (bench.job_id, "JOB")):
        log = log.replace(own, any_)
    log = re.sub(r'(DANLU_JOB_STARTED(?:": "|=))[\d.]+', r"\1START", log)
    return outcome, re.sub(r"\[danlu\] code: .*\n", "", log.replace(WARM, ""))


def probe(home: Home, *, warm: bool, kind: str) -> dict[str, object]:
    _, log = run(home, PROBE.read_text(encoding="utf-8"), warm=warm, kind=kind)
    found = re.search("^PROBE (.*)$", log, re.MULTILINE)
    assert found, log
    values: dict[str, object] = json.loads(found[1])
    return values


KINDS_HERE = [
    pytest.param(kind, marks=() if kind == BEST else pytest.mark.long)
    for kind in ("root", "user", "none")
    if kind != "root" or os.geteuid() == 0
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS_HERE)
@pytest.mark.smoke
def test_script_finds_same_process_and_same_numbers(home: Home, kind: str) -> None:
    cold, warm = probe(home, warm=False, kind=kind), probe(home, warm=True, kind=kind)
    if kind == "none":  # they are the machine's, and any process may change them
        del cold["mounts"]
    different = {name: (cold[name], warm[name]) for name in cold if cold[name] != warm[name]}
    assert different == {}


SECOND = """
import tensorflow as tf
import sys
tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(4, "relu"), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
seen = model.fit(tf.ones([32, 3]), tf.ones([32, 1]), epochs=3, verbose=0).history["loss"]
print(tf.__version__, tf.keras.__version__, [float(value).hex() for value in seen])
print(sorted(name for name in sys.modules if "_generated_" not in name))
"""


@pytest.mark.timeout(300)
def test_same_process_serves_scripts_of_second_generation(home: Home) -> None:
    cold, warm = (run(home, SECOND, warm=warm, DANLU_TENSORFLOW="2.15.0") for warm in (0, 1))
    assert "2.15.0 2." in cold[1]
    assert warm[1] == cold[1]


def test_module_of_script_comes_before_loaded_one(home: Home) -> None:
    script = """
        import sys, os
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))
        import six
        print(six.WHOSE)
        import json
        del sys.modules["json"]
        import json
        print(json.__spec__.loader is not None, "numpy" in sys.modules, "tensorflow" in sys.modules)
        import numpy
        print("tensorflow" in sys.modules, numpy.zeros(1))
        """
    bench = home.bench()
    files = plan(bench, script, modules={"lib/six.py": "WHOSE = 'mine'"})
    bench.run(files)
    assert WARM + "mine\nTrue False False\nFalse [0.]\n" in bench.log(files)


ENDS = {
    "done": "print('hello')",
    "a code": "import sys; sys.exit(3)",
    "a text": "import sys; sys.exit('no data')",
    "at once": "import os; print('hello'); os._exit(7)",
    "an error": "def f():\n    raise ValueError('wrong')\nf()",
    "no such module": "import nothing_of_that_name",
    "no syntax": "def f(:\n    pass\n",
    "interrupted": "raise KeyboardInterrupt",
    "SIGKILL": "import os; os.kill(os.getpid(), 9)",
    "SIGTERM": "import os; os.kill(os.getpid(), 15)",
    "SIGABRT": "import os; os.abort()",
    "a crash": "import ctypes; ctypes.string_at(0)",
    "an end of its own": "import atexit; atexit.register(print, 'bye'); print('hello')",
    "unheard signals": """
        import signal
        print(*(signal.Signals(n).name for n in range(1, 32) if signal.getsignal(n) == 1))
        print(signal.getsignal(signal.SIGINT), signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        """,
    "a thread": """
        import threading, time
        threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()
        """,
    "a fork": """
        import os, sys
        pid = os.fork()
        if pid == 0:
            print('child'); sys.exit(4)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """,
    "a program": """
        import subprocess, sys
        code = "import sys, os; print(sys.argv, list(sys.modules), os.environ['DANLU_TASK'])"
        subprocess.run([sys.executable, "-c", code, "x"], check=True)
        print(subprocess.run(["sh", "-c", "exit 5"]).returncode)
        """,
    "spawned workers": """
        import multiprocessing, os
        def square(x):
            return x * x
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(square, [1, 2, 3]))
        """,
    "forked workers": """
        import multiprocessing
        def square(x):
            return x * x
        with multiprocessing.get_context("fork").Pool(1) as pool:
            print(pool.map(square, [1, 2, 3]))
        """,
}


QUICK = (
    *("a code", "an error", "SIGKILL", "SIGTERM", "unheard signals"),
    *("a fork", "a program", "spawned workers"),
)


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "end", [pytest.param(end, marks=() if end in QUICK else pytest.mark.long) for end in ENDS]
)
def test_a_script_ends_the_same_way(home: Home, end: str) -> None:
    cold, warm = run(home, ENDS[end], warm=False), run(home, ENDS[end], warm=True)
    assert warm[1] == cold[1]
    assert (warm[0].reason, warm[0].exit_code) == (cold[0].reason, cold[0].exit_code)
    assert _without_paths(warm[0]) == _without_paths(cold[0])


def _without_paths(outcome: Outcome) -> object:
    failure = outcome.failure
    return failure and (failure.exception, failure.message, failure.frames, failure.signal)


LOGGING = """
import io, logging, logging.config, sys
{configure}
import tensorflow as tf
from absl import logging as absl_logging
tf.logging.set_verbosity(tf.logging.INFO)
tf.logging.info("said once")
absl_logging.warning("said once, too")
print(logging.getLogger("tensorflow").handlers, sorted(logging.root.manager.loggerDict))
print(getattr(sys.stderr, "getvalue", str)())
"""
CONFIGURED = {
    "by hand": "logging.basicConfig(level=logging.INFO, stream=sys.stdout)",
    "with all others disabled": """
logging.config.dictConfig({
    "version": 1,
    "handlers": {"mine": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout"}},
    "root": {"level": "INFO", "handlers": ["mine"]},
})
""",
    "by its standard error": "sys.stderr = io.StringIO()",
}


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "how",
    [pytest.param(how, marks=() if "all" in how else pytest.mark.long) for how in CONFIGURED],
)
def test_script_that_configures_logging_first_is_logged_same(home: Home, how: str) -> None:
    script = LOGGING.format(configure=CONFIGURED[how])
    cold, warm = run(home, script, warm=False), run(home, script, warm=True)
    assert warm[1] == cold[1]
    assert cold[1].count("said once\n") == 1


DRAWN = """
import random, uuid, secrets
import numpy as np, tensorflow as tf
import multiprocessing, tempfile
with tf.Session() as session:
    print(random.random(), np.random.rand(), session.run(tf.random_normal([])), uuid.uuid4())
print(bytes(multiprocessing.current_process().authkey).hex(), tempfile.mktemp())
print(secrets.token_hex())
"""


@pytest.mark.timeout(180)
def test_two_scripts_do_not_share_tmp(home: Home) -> None:
    script = """
        import os, tempfile
        names = [folder + "/danlu-test-model" for folder in ("/tmp", "/var/tmp", "/dev/shm")]
        print("there", [os.path.exists(name) for name in names], tempfile.gettempdir())
        for name in names:
            open(name, "w").close()
    """
    for _ in range(2):
        bench = home.bench()
        files = plan(bench, script)
        assert bench.run(files).reason is Reason.DONE, bench.log(files)
        assert WARM in bench.log(files)
        assert "there [False, False, False] /tmp\n" in bench.log(files)
        reported = files.progress()
        assert reported is not None
        assert reported.isolated is not None
        assert reported.isolated.tmp
        assert reported.isolated.shm > 0


@pytest.mark.timeout(180)
@pytest.mark.smoke
def test_two_tasks_draw_different_numbers(home: Home) -> None:
    drawn = [run(home, DRAWN, warm=True)[1].split()[:7] for _ in range(2)]
    assert len(drawn[0]) == 7
    assert not set(drawn[0]) & set(drawn[1])


# Not those that this process, and so the waiting one, has.
OTHER_KERNELS = "1" if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0" else "0"
COLD: dict[str, tuple[dict[str, object], str]] = {
    "a variable": ({"env": {"TF_XLA_FLAGS": "x"}}, "the variable TF_XLA_FLAGS is set"),
    "a path": ({"env": {"PYTHONPATH": "/x"}}, "the variable PYTHONPATH is set"),
    "another mode": (
        {"env": {"DANLU_TENSORFLOW": "2.16.1"}},
        "TensorFlow 2.16 and later are not kept loaded",
    ),
    "a module": ({"modules": {"six.py": ""}}, "the code has a module six of its own"),
    "a package": ({"modules": {"json/__init__.py": ""}}, "the code has a module json of its own"),
    "a line": (
        {"modules": {"lib/a.py": "import os\nos.environ['OMP_NUM_THREADS'] = '1'\n"}},
        "lib/a.py names the variable OMP_NUM_THREADS",
    ),
    "a level": (
        {"modules": {"a.py": "import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n"}},
        "a.py names the variable TF_CPP_MIN_LOG_LEVEL",
    ),
    "other kernels": (
        {"env": {"TF_ENABLE_ONEDNN_OPTS": OTHER_KERNELS}},
        "no warm process is waiting",
    ),
    "another thread pool": ({"env": {"OMP_NUM_THREADS": "7"}}, "no warm process is waiting"),
    "packages": ({"before": 'touch "$PIP_TARGET/x.py"'}, "the task has packages of its own"),
    "settings of Keras": (
        {"before": 'mkdir -p ~/.keras; echo \'{"floatx": "float16"}\' > ~/.keras/keras.json'},
        "~/.keras/keras.json is not as Keras writes it",
    ),
}


@pytest.mark.smoke
def test_kill_before_start_is_reported_as_kill() -> None:
    """Not a fault of the platform, and not of the script's: the machine's, and tried again."""
    ours, theirs = socket.socketpair()
    theirs.close()
    ended = threading.Event()
    taken = WarmProcess(ours, 1, 1)

    taken.go(ended.set)

    assert ended.wait(100)
    assert taken.status == signal.SIGKILL
    taken.close()


@pytest.mark.smoke
def test_silent_process_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("danlu.agent.script.warm_client._TIMEOUT", 0.05)
    wanted, order = (
        WarmProcessSpec("python", 0, {}),
        LaunchOrder(1, "", None, "", "/", ["python"], {}),
    )
    with socket.socket(socket.AF_UNIX) as frozen, open(os.devnull) as nothing:
        with address(tmp_path, wanted.key) as path:
            frozen.bind(path)
        frozen.listen()
        waiting = WarmPoolClient(tmp_path, wanted, "")
        assert waiting.take(order, (nothing.fileno(), nothing.fileno())) is None
    assert waiting.cold == "no warm process is waiting"
    assert [path.suffix for path in sorted(tmp_path.iterdir())] == [".json", GIVEN_UP]


@pytest.mark.parametrize("why", COLD)
def test_cold_start_is_logged_with_its_reason(home: Home, why: str) -> None:
    command, reason = COLD[why]
    bench = home.bench()
    files = plan(bench, "print('hello')", **command)
    assert bench.run(files).exit_code == 0
    assert f"[danlu] started cold: {reason}\nhello\n" in bench.log(files)


def test_variables_that_change_nothing_are_no_reason(home: Home) -> None:
    script = """
        import os
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
        print(os.environ.get("TF_CONFIG"), os.environ["SIZE"])
        """
    bench = home.bench()
    files = plan(bench, script, env={"TF_CONFIG": "{}", "SIZE": "1"})
    bench.run(files)
    assert WARM + "{} 1\n" in bench.log(files)


DETACHED = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    with open("/cache/daemon.new", "w") as file:
        file.write(str(os.getpid()))
    os.rename("/cache/daemon.new", "/cache/daemon")
    os.execve("/bin/sleep", ["sleep", "1000"], {})  # without the mark
time.sleep(1000)
"""


@pytest.mark.smoke
def test_task_ignoring_sigterm_leaves_no_process(home: Home, until: Until) -> None:
    bench = home.bench()
    files = plan(bench, DETACHED)
    agent = bench.start(files)
    daemon = bench.workspace() / "root/cache/daemon"
    until(daemon.exists)
    pid = int(daemon.read_text())
    assert started(pid) is not None
    files.request_stop(0.2)
    agent.send_signal(signal.SIGTERM)
    agent.wait(100)
    assert WARM in bench.log(files)
    assert not bench.processes()
    assert started(pid) is None


def test_a_script_ends_with_its_agent(home: Home, until: Until) -> None:
    bench = home.bench()
    files, agent = _sleeper(bench, until)
    pids = bench.processes()
    assert pids
    agent.kill()
    until(lambda: not bench.processes())
    assert WARM in bench.log(files)


def test_a_script_whose_parent_is_killed_was_killed(home: Home, until: Until) -> None:
    bench = home.bench()
    files, agent = _sleeper(bench, until)
    (pid,) = bench.processes()
    os.kill(_parent(pid), signal.SIGKILL)
    agent.wait(100)
    outcome = files.outcome()
    assert outcome is not None
    assert outcome.exit_code == 137


@pytest.mark.smoke
def test_processes_adopted_by_exit_monitor_are_found(tmp_path: Path, until: Until) -> None:
    reported = tmp_path / "told"
    command = f"sleep 1000 & echo $$ $! > {reported}.new; mv {reported}.new {reported}; wait"
    subprocess.run(["setsid", "--fork", "sh", "-c", command], check=True)
    until(reported.exists)
    monitor, adopted = map(int, reported.read_text().split())
    processes = Processes("nobody/1/worker-0", None)
    processes.spared |= processes.pids()  # what other tests have started is no script's
    assert adopted not in processes.pids()
    processes.follow(monitor)
    assert processes.pids() & {monitor, adopted} == {adopted}
    processes.kill()
    until(lambda: started(monitor) is None)
    assert not processes.pids()


WAITS = """
import os, time
open("/cache/ready", "w").close()
while not os.path.exists("/cache/go"):
    time.sleep(0.01)
"""


@pytest.mark.timeout(300)
def test_task_survives_kill_of_the_warm_process(
    tmp_path: Path, bench_at: Any, until: Until
) -> None:
    home = Home(tmp_path, bench_at)
    try:
        home.begin()
        bench, other = home.bench(), home.bench()
        files = plan(bench, WAITS)
        agent = bench.start(files)
        until((bench.workspace() / "root/cache/ready").exists)
        os.kill(home.pid, signal.SIGKILL)
        cold = plan(other, "print('hello')")
        assert other.run(cold).exit_code == 0
        assert "started cold: no warm process is waiting\nhello\n" in other.log(cold)
        (bench.workspace() / "root/cache/go").touch()
        agent.wait(100)
        assert WARM in bench.log(files)
        assert files.outcome().exit_code == 0
    finally:
        home.waiting.close()


def _sleeper(bench: Any, until: Until) -> tuple[TaskDir, "subprocess.Popen[bytes]"]:
    files = plan(bench, WAITS)
    agent = bench.start(files)
    until((bench.workspace() / "root/cache/ready").exists)
    return files, agent


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
