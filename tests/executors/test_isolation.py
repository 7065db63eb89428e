"""The probe: what it says is followed, and a probe that fails is no answer."""

import sys

import pytest

from danlu.errors import Unavailable
from danlu.executors.isolation import probe
from danlu.executors.local import LocalExecutor
from danlu.job.plan import Isolation, Role
from danlu.settings import Settings


def says(text, exit_code=0):
    return (sys.executable, "-c", f"import sys; print({text!r}); sys.exit({exit_code})")


def test_what_the_probe_says_is_followed(tmp_path):
    answer = says('{"namespace": "user", "overlay": true}')

    assert probe(tmp_path / "work", answer) == Isolation("user", True)
    assert (tmp_path / "work").is_dir()


@pytest.mark.parametrize(
    "command",
    [says("{}", 1), says("no JSON"), says("[1]"), ("/no/such/program",)],
    ids=["fails", "speaks in riddles", "no object", "is not there"],
)
def test_a_probe_that_fails_is_no_answer(tmp_path, command):
    """A job must not run without a place of its own because a disk was full for a moment."""
    with pytest.raises(Unavailable, match="could not be found out"):
        probe(tmp_path, command)


def test_a_probe_that_failed_is_asked_again(tmp_path):
    gate = tmp_path / "gate"
    script = "import os, sys; os.path.exists(sys.argv[1]) or sys.exit(1); print('{}')"
    command = (sys.executable, "-c", script, str(gate))
    executor = LocalExecutor(Settings(home=tmp_path), probe_command=command)
    with pytest.raises(Unavailable):
        executor.place("job", [Role("worker")])

    gate.touch()

    assert executor.place("job", [Role("worker")])[0].isolation == Isolation()


def test_private_paths_need_no_root_before_them(tmp_path):
    answer = says('{"namespace": "root", "overlay": true}')
    executor = LocalExecutor(Settings(home=tmp_path), probe_command=answer)

    (place,) = executor.place("job", [Role("worker")])

    assert (place.root, place.path("/cache")) == ("", "/cache")
    assert place.isolation == Isolation("root", True)


def test_without_namespaces_fixed_paths_lie_in_the_workspace(tmp_path):
    executor = LocalExecutor(Settings(home=tmp_path, isolation="none"), probe_command=("/no",))

    (place,) = executor.place("job", [Role("worker")])

    assert place.path("/cache") == f"{tmp_path}/work/job/1/worker-0/root/cache"
