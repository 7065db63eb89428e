"""The result of the probe is used, and a failed probe is no result."""

import sys

import pytest

from danlu.errors import Unavailable
from danlu.executors.local import LocalExecutor
from danlu.executors.machine import PAUSE, probe
from danlu.job.plan import Isolation, Role
from danlu.settings import Settings


def prints(text, exit_code=0):
    return (sys.executable, "-c", f"import sys; print({text!r}); sys.exit({exit_code})")


def test_result_of_the_probe_is_used(tmp_path):
    answer = prints('{"namespace": "user", "overlay": true}')

    assert probe(tmp_path / "work", answer) == Isolation("user", True)
    assert (tmp_path / "work").is_dir()


@pytest.mark.parametrize(
    "command",
    [prints("{}", 1), prints("no JSON"), prints("[1]"), prints("{}"), ("/no/such/program",)],
    ids=["fails", "speaks in riddles", "no object", "names no namespace", "is not there"],
)
def test_a_probe_that_fails_is_no_answer(tmp_path, command):
    """A job must not run without a place of its own because a disk was full for a moment."""
    with pytest.raises(Unavailable, match="Cannot determine"):
        probe(tmp_path, command)


def test_a_probe_that_failed_is_asked_again(tmp_path):
    gate, asked, now = tmp_path / "gate", tmp_path / "asked", [100.0]
    script = """if True:
        import os, sys
        open(sys.argv[2], "a").write("x")
        os.path.exists(sys.argv[1]) or sys.exit("No space left on device")
        print('{"namespace": "user", "overlay": true}')
    """
    command = (sys.executable, "-c", script, str(gate), str(asked))
    executor = LocalExecutor(Settings(home=tmp_path), lambda: now[0], probe_command=command)
    with pytest.raises(Unavailable, match="allows: No space left on device"):
        executor.place("job", [Role("worker")])
    tries = asked.read_text()

    gate.touch()
    with pytest.raises(Unavailable):  # jobs that wait ask several times a second
        executor.place("job", [Role("worker")])
    assert asked.read_text() == tries
    now[0] += PAUSE

    assert executor.place("job", [Role("worker")])[0].isolation == Isolation("user", True)
    assert executor.place("job", [Role("worker")])[0].isolation == Isolation("user", True)
    assert asked.read_text() == tries + "x"


def test_private_paths_need_no_root_before_them(tmp_path):
    answer = prints('{"namespace": "root", "overlay": true}')
    executor = LocalExecutor(Settings(home=tmp_path), probe_command=answer)

    (place,) = executor.place("job", [Role("worker")])

    assert (place.root, place.path("/cache")) == ("", "/cache")
    assert place.isolation == Isolation("root", True)


def test_without_namespaces_fixed_paths_are_in_the_workspace(tmp_path):
    executor = LocalExecutor(Settings(home=tmp_path, isolation="none"), probe_command=("/no",))

    (place,) = executor.place("job", [Role("worker")])

    assert place.path("/cache") == f"{tmp_path}/work/job/1/worker-0/root/cache"
