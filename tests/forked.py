"""Runs a test in a fork of a process that has TensorFlow imported: seconds are paid once.

``Template`` is started with the first test that needs it, one for each generation of TensorFlow,
and ends with the tests. A test with the fixture ``tf`` or ``tf2`` is run there by a pytest of its
own, so that fixtures, parameters and the reading of assertions are those of any other test.
"""

import contextlib
import gc
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import danlu_runtime

ROOT = Path(__file__).parents[1]
STARTUP = Path(danlu_runtime.__file__).parent / "startup"
INSIDE = "DANLU_TEST_FORK"
VERSIONS = {"tf": "1.15.5", "tf2": "2.15.0"}
# To look for all plugins that are installed takes longer than most tests.
PLUGINS = ("--disable-plugin-autoload", "-p", "pytest_timeout", "-p", "no:cacheprovider")
OPTIONS = ("-q", "-W", "ignore", *PLUGINS)


class Template:
    def __init__(self, version: str) -> None:
        drop = ("PYTHONDONTWRITEBYTECODE", "TF_CPP_MIN_LOG_LEVEL", "TF_USE_LEGACY_KERAS")
        env = {name: value for name, value in os.environ.items() if name not in drop}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env={
                **env,
                "PYTHONPATH": str(STARTUP),
                "DANLU_TENSORFLOW": version,
                INSIDE: version,
                # A fork has one core's worth of work, and there are as many tests as cores.
                "OMP_NUM_THREADS": "1",
                "TF_NUM_INTEROP_THREADS": "2",
                "TF_NUM_INTRAOP_THREADS": "2",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, node: str, timeout: float) -> tuple[int, str]:
        """Return the exit code of one test and what it printed.

        A test that takes too long may hang inside TensorFlow, where no signal reaches Python: it
        is killed, and this process with it.
        """
        assert self._process.stdin
        assert self._process.stdout
        with tempfile.TemporaryDirectory(prefix="danlu-test-") as folder:
            order = {"node": node, "folder": folder}
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            ready, _, _ = select.select([self._process.stdout], [], [], timeout)
            answer = self._process.stdout.readline() if ready else ""
            output = Path(folder, "output")
            text = output.read_text(errors="replace") if output.exists() else ""
            if not ready:
                self.kill()
                return 1, f"It took more than {timeout:.0f} seconds.\n{text}"
        if not answer:
            return 1, f"The process with TensorFlow has ended: {self._process.wait()}\n{text}"
        return json.loads(answer)["code"], text

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


def _serve() -> None:
    import numpy  # noqa: F401
    import pytest
    import tensorflow  # noqa: F401

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        # Imports what every run imports: pytest's own parts, conftest.py and what that needs.
        pytest.main(["--collect-only", *OPTIONS, str(ROOT / "tests" / "test_forked.py")])
    # What is there now stays: a fork whose collector looked at it would copy it by looking.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(_run(order["node"], order["folder"]))
        _, status = os.waitpid(child, 0)
        answers.write(json.dumps({"code": os.waitstatus_to_exitcode(status)}) + "\n")
        answers.flush()


def _run(node: str, folder: str) -> int:
    import pytest

    output = os.open(f"{folder}/output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.environ["DANLU_STORE"] = f"{folder}/store"  # never that of whoever runs the tests
    # A fork ends without ado, and so nothing removes what TensorFlow or a data set left there.
    os.environ["TMPDIR"] = tempfile.tempdir = f"{folder}/temporary"
    os.mkdir(tempfile.tempdir)
    code = pytest.main([*OPTIONS, f"--basetemp={folder}/tmp", node])
    sys.stdout.flush()
    sys.stderr.flush()
    return int(code)


if __name__ == "__main__":
    os.chdir(ROOT)
    _serve()
