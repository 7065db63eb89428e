"""A script keeps to the cards of its task, in the process and in those it starts."""

import json
import os
import subprocess
import sys

import pytest

import danlu_runtime

SHOWS = "import json, os; print(json.dumps([os.environ.get('CUDA_VISIBLE_DEVICES'), seen()]))"
# What CUDA reads: the environment of the process, not Python's copy.
SEEN = """
import ctypes
def seen():
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    found = getenv(b"CUDA_VISIBLE_DEVICES")
    return None if found is None else found.decode()
"""
STARTUP = os.path.join(os.path.dirname(danlu_runtime.__file__), "startup")


def visible_gpus(program, own="2,3", shown="2,3"):
    """Return what a script shows of the variable, and what CUDA would see."""
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("DANLU_")},
        "PYTHONPATH": STARTUP,
        "DANLU_CODE": "/nowhere",
        "DANLU_CARDS": own,
        "CUDA_VISIBLE_DEVICES": shown,
    }
    done = subprocess.run(
        [sys.executable, "-c", f"{SEEN}\nimport os\n{program}\n{SHOWS}"],
        env=env,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("program", "shown", "seen"),
    [
        ("pass", "2,3", "2,3"),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '0'", "0", "2"),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '-1'", "-1", ""),
        ("os.environ.update(CUDA_VISIBLE_DEVICES='1')", "1", "3"),
        ("os.putenv('CUDA_VISIBLE_DEVICES', '1')", "2,3", "3"),
        ("os.environ.pop('CUDA_VISIBLE_DEVICES')", None, "2,3"),
        ("os.environ['CUDA_VISIBLE_DEVICES_'] = '0'", "2,3", "2,3"),
    ],
)
def test_gpus_are_counted_within_the_task(program, shown, seen):
    assert visible_gpus(program) == [shown, seen]


def test_task_without_gpus_sees_none():
    assert visible_gpus("os.environ['CUDA_VISIBLE_DEVICES'] = '0'", own="", shown="") == ["0", ""]


def test_subprocess_with_other_gpu_choice_is_limited():
    child = f"{SEEN}\nprint(seen())"
    program = (
        "import subprocess, sys\n"
        f"found = subprocess.run([sys.executable, '-c', {child!r}], capture_output=True, text=True,"
        " env={**os.environ, 'CUDA_VISIBLE_DEVICES': '1'}).stdout.strip()\n"
        "os.environ['CUDA_VISIBLE_DEVICES'] = found"
    )

    assert visible_gpus(program) == ["3", "3"]
