"""What the local executor holds, and what it removes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.executor import Bench
from danlu.errors import NoCapacity
from danlu.executors.local import LocalExecutor
from danlu.job.plan import Role

STAND_IN = (sys.executable, str(Path(__file__).with_name("fake_agent.py")))
# Root may write anywhere: as an ordinary user, the process gives up CAP_DAC_OVERRIDE and
# CAP_DAC_READ_SEARCH (by PR_CAPBSET_DROP and an exec).
REMOVE = """
import ctypes, os, sys
if sys.argv[-1] != "again":
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability)
    os.execv(sys.executable, [*sys.orig_argv, "again"])
from pathlib import Path
from danlu.executors.local import LocalExecutor
from danlu.settings import Settings
LocalExecutor(Settings(home=Path(sys.argv[1]))).clear(sys.argv[2], everything=True)
"""


@pytest.fixture
def bench(settings, tmp_path):
    return Bench(LocalExecutor(settings, agent_command=STAND_IN), tmp_path)


def test_a_retry_has_a_workspace_of_its_own(bench, settings):
    first = bench.executor.reserve(bench.job_id, [Role("worker", count=2)])
    bench.start(*(bench.task("", place=place) for place in first))

    second = bench.executor.reserve(bench.job_id, [Role("worker", count=2)])

    assert first[1].root == str(settings.work / bench.job_id / "1" / "worker-1" / "root")
    assert second[1].root == str(settings.work / bench.job_id / "2" / "worker-1" / "root")
    assert second[1].port == first[1].port
    bench.stop(*(bench.task("", place=place) for place in first))


def test_ports_of_two_jobs_differ(bench):
    roles = [Role("worker", count=2, cpus=0.1)]

    places = [place for job in "abc" for place in bench.executor.reserve(job, roles)]

    assert len({place.port for place in places}) == 6


def test_removal_includes_read_only_folders_without_links(bench, settings, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data").touch()
    tree = settings.work / bench.job_id / "1" / "worker-0" / "root"
    (tree / "code").mkdir(parents=True)
    (tree / "code/train.py").touch()
    (tree / "link").symlink_to(precious)
    os.chmod(tree / "code", 0o555)
    os.chmod(tree, 0o000)

    done = subprocess.run([sys.executable, "-c", REMOVE, settings.home, bench.job_id], timeout=60)

    assert done.returncode == 0
    assert not (settings.work / bench.job_id).exists()
    assert (precious / "data").exists()


@pytest.mark.parametrize("job_id", ["", ".", "..", "a/b", "../store", "a\0b"])
def test_what_is_not_id_of_job_removes_nothing(bench, settings, job_id):
    settings.store.mkdir(parents=True)

    with pytest.raises(ValueError, match="not the id of a job"):
        bench.executor.clear(job_id, everything=True)

    assert settings.store.exists()


def test_missing_capacity_is_reported_with_free_capacity(bench):
    bench.executor.reserve("other", [Role("worker", cpus=1.5)])

    with pytest.raises(NoCapacity, match=r"the 0\.5 CPUs"):
        bench.executor.reserve(bench.job_id, [Role("worker")])
