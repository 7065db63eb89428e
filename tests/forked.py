"""Runs each TensorFlow test in a fork of a process that has imported TensorFlow and the test.

Three processes are involved. The *template* imports TensorFlow and configures one pytest session;
there is one for each TensorFlow generation, started on first use. The *module process* is a fork of
the template that has collected one test file; it is replaced when a test of another file is
requested, so no file sees what another file imported. The *test process* is a fork of the module
process that runs one item with all its fixtures and returns pytest's own reports.

Many tests import packages on use, such as ``scipy.stats``, which takes longer than the test. A test
process reports the installed packages it has imported, and the module process imports them before
it forks the next test of the file.
"""

import contextlib
import functools
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import pytest

import danlu_runtime

ROOT = Path(__file__).parents[1]
STARTUP = Path(danlu_runtime.__file__).parent / "startup"
INSIDE = "DANLU_TEST_FORK"
VERSIONS = {"tf": "1.15.5", "tf2": "2.15.0"}
_OPTIONS = (
    "-q",
    *("-W", "ignore"),
    # Loading every installed plugin takes longer than most tests.
    *("--disable-plugin-autoload", "-p", "pytest_timeout", "-p", "no:cacheprovider"),
    # In memory: forks would share the temporary file that the default method writes to.
    "--capture=sys",
)


class Template:
    """A template process. ``run`` is not thread-safe."""

    def __init__(self, version: str) -> None:
        self._is_ready = False
        drop = ("PYTHONDONTWRITEBYTECODE", "TF_CPP_MIN_LOG_LEVEL", "TF_USE_LEGACY_KERAS")
        env = {name: value for name, value in os.environ.items() if name not in drop}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env={
                **env,
                "PYTHONPATH": str(STARTUP),
                "DANLU_TENSORFLOW": version,
                INSIDE: version,
                # Other tests run at the same time: a test uses about one core.
                "OMP_NUM_THREADS": "1",
                "TF_NUM_INTEROP_THREADS": "2",
                "TF_NUM_INTRAOP_THREADS": "2",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, node: str, timeout: float) -> tuple[list[dict[str, Any]], str]:
        """Return the serialized reports of one test, and an error if there are none.

        A test that exceeds ``timeout`` may hang inside TensorFlow, where no signal handler of
        Python runs. It is killed together with the template. The time in which the template
        imports TensorFlow is not counted.
        """
        assert self._process.stdin
        assert self._process.stdout
        if not self._is_ready:
            self._process.stdout.readline()
            self._is_ready = True
        with tempfile.TemporaryDirectory(prefix="danlu-test-") as folder:
            self._process.stdin.write(json.dumps({"node": node, "folder": folder}) + "\n")
            self._process.stdin.flush()
            ready, _, _ = select.select([self._process.stdout], [], [], timeout)
            answer = self._process.stdout.readline() if ready else ""
            output = _read(folder, "output")
            reports = _read(folder, "reports")
            if not ready:
                self.kill()
                return [], f"The test took more than {timeout:.0f} seconds.\n{output}"
        if not answer:
            return [], f"The template process exited with {self._process.wait()}.\n{output}"
        if not reports:
            return [], f"The test process {json.loads(answer)}.\n{output}"
        return json.loads(reports), output

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _read(folder: str, name: str) -> str:
    path = Path(folder, name)
    return path.read_text(errors="replace") if path.exists() else ""


class _Server:
    """A pytest plugin that runs the items it is sent instead of those of the command line."""

    def __init__(self, requests: TextIO, answers: TextIO) -> None:
        self._requests = requests
        self._answers = answers
        self._is_template = True
        self._reports: list[pytest.TestReport] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool | None:
        return True if self._is_template else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        _exclude_from_collection()
        self._answers.write("ready\n")
        self._answers.flush()
        module: _Module | None = None
        for line in self._requests:
            file = json.loads(line)["node"].split("::")[0]
            if module is None or module.file != file or not module.alive:
                if module is not None:
                    module.close()
                module = _Module(file, functools.partial(self._run_module, session, file))
            self._answers.write(json.dumps(module.run(line)) + "\n")
            self._answers.flush()
        os._exit(0)  # without the summary of a session that ran nothing

    def _run_module(
        self, session: pytest.Session, file: str, requests: TextIO, answers: TextIO
    ) -> None:
        self._is_template = False
        session.config.args = [file]
        error = ""
        try:
            session.config.hook.pytest_collection(session=session)
        except BaseException:
            error = traceback.format_exc()
        items = {item.nodeid.split("::", 1)[1]: item for item in session.items}
        _exclude_from_collection()
        for line in requests:
            order = json.loads(line)
            item = items.get(order["node"].split("::", 1)[1])
            reason = error or f"Collecting {file} gave no test {order['node']}."
            child = os.fork()
            if child == 0:
                _exit_after(functools.partial(self._run_test, item, order["folder"], reason))
            _, status = os.waitpid(child, 0)
            # Read before the answer: the folder is removed after it.
            imported = _read(order["folder"], "imported").split()
            answers.write(f"exited with {os.waitstatus_to_exitcode(status)}\n")
            answers.flush()
            _import(imported)

    def _run_test(self, item: pytest.Item | None, folder: str, reason: str) -> None:
        output = os.open(f"{folder}/output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        if item is None:
            print(reason, file=sys.__stderr__)
            return
        os.environ["DANLU_STORE"] = f"{folder}/store"  # never that of the user who runs the tests
        # The process ends by os._exit, which removes no temporary file of TensorFlow or a data set.
        os.environ["TMPDIR"] = tempfile.tempdir = f"{folder}/temporary"
        os.environ["PYTEST_DEBUG_TEMPROOT"] = f"{folder}/tmp"  # the root of tmp_path
        os.mkdir(f"{folder}/temporary")
        os.mkdir(f"{folder}/tmp")
        known = set(sys.modules)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        imported = [name for name in sys.modules if name not in known and _is_installed(name)]
        Path(folder, "imported").write_text("\n".join(imported))
        to_data = item.config.hook.pytest_report_to_serializable
        reports = [to_data(config=item.config, report=report) for report in self._reports]
        Path(folder, "reports").write_text(json.dumps(reports))


class _Module:
    """The module process of ``file``, seen from the template."""

    def __init__(self, file: str, work: Callable[[TextIO, TextIO], None]) -> None:
        self.file = file
        self.alive = True
        requests, self._requests = os.pipe()
        answers_read, answers = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._requests)
            os.close(answers_read)
            _exit_after(lambda: work(os.fdopen(requests), os.fdopen(answers, "w")))
        os.close(requests)
        os.close(answers)
        self._answers = os.fdopen(answers_read)

    def run(self, line: str) -> str:
        """Return how the test process ended."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._requests, line.encode())
        answer = self._answers.readline().strip()
        self.alive = bool(answer)
        return answer or "was not started: the process that collected its file has ended"

    def close(self) -> None:
        os.close(self._requests)
        self._answers.close()
        os.waitpid(self._child, 0)


def _exit_after(work: Callable[[], None]) -> None:
    """End a forked process without running what its parent registered for its own exit."""
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _exclude_from_collection() -> None:
    """Keep the garbage collector of forks from touching, and so copying, what is shared."""
    gc.collect()
    gc.freeze()


def _is_installed(module: str) -> bool:
    return "site-packages" in (getattr(sys.modules[module], "__file__", None) or "")


def _import(modules: list[str]) -> None:
    """Import what a test has imported. A thread would not exist in the forks that follow."""
    fresh = [name for name in modules if name not in sys.modules]
    threads = len(os.listdir("/proc/self/task"))
    for name in fresh:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if fresh:
        assert len(os.listdir("/proc/self/task")) == threads, f"One of {fresh} starts a thread."
        _exclude_from_collection()


def _serve() -> None:
    import numpy  # noqa: F401
    import tensorflow  # noqa: F401

    requests = os.fdopen(os.dup(0))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    pytest.main([*_OPTIONS, "tests/test_forked.py"], plugins=[_Server(requests, answers)])


if __name__ == "__main__":
    os.chdir(ROOT)
    _serve()
