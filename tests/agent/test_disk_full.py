"""A full disk in any phase: the job has the reason, and the next job runs."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.job.plan import Fetch, Push
from danlu.job.state import Reason
from danlu.sandbox import kernel

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root")


@pytest.fixture
def small(bench):
    """The bench on a disk of 24 MB."""
    kernel.mount("tmpfs", str(bench.home), "tmpfs", options="size=24m")
    yield bench
    bench.close()
    kernel.unmount(str(bench.home))


FILL = """
    import time
    try:
        with open("/cache/big", "wb", buffering=0) as f:
            while True:
                f.write(b"x" * 4096)
    except OSError:
        print("full", flush=True)
        {then}
"""


def test_script_that_fills_the_disk_gets_reason(small):
    files = small.plan(FILL.format(then="raise"))

    outcome = small.run(files)

    assert outcome.reason is Reason.DISK_FULL
    assert outcome.failure.disk_full


def test_a_script_that_does_not_mind_goes_on(small, until):
    """The agent has a reserve to live on."""
    small.limits = replace(small.limits, lost_after=1)
    files = small.plan(FILL.format(then="time.sleep(60)"))
    agent = small.start(files)
    reserve = small.workspace() / "reserve"
    until(lambda: files.heartbeat() and not reserve.exists())
    before = files.heartbeat().seq
    until(lambda: files.heartbeat().seq > before + 5)

    files.request_stop(0.1)

    assert agent.wait(100) == 0
    assert files.outcome().reason is Reason.STOPPED_BY_USER


def test_script_that_fills_disk_again_and_again(small):
    small.limits = replace(small.limits, lost_after=1)
    files = small.plan(
        """
        import time
        with open("/cache/big", "wb", buffering=0) as f:
            while True:
                try:
                    f.write(b"x" * 4096)
                except OSError:
                    time.sleep(0.001)
        """
    )

    outcome = small.run(files)

    assert outcome.reason is Reason.DISK_FULL
    assert outcome.failure.disk_full == str(small.home)
    small.job_id = small.job_id[::-1]
    assert small.run(small.plan("print('again')")).reason is Reason.DONE


def test_data_that_does_not_fit(small, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "big").write_bytes(bytes(30 << 20))
    files = small.plan("", fetch=(Fetch(data.as_uri(), "/opt/ml/data", "data_url"),))

    outcome = small.run(files)

    assert outcome.reason is Reason.DISK_FULL
    assert outcome.failure.disk_full.startswith(str(small.home))


def test_outputs_are_stored_after_disk_is_freed(small, until):
    ballast = small.home / "ballast"
    ballast.write_bytes(bytes(6 << 20))
    files = small.plan(
        "open('/home/ma-user/out/model', 'wb').write(bytes(10 << 20))",
        push=(Push("/home/ma-user/out", "obs://bucket/out", "train_url"),),
    )
    agent = small.start(files)
    until(lambda: b"retrying until" in files.log_reader().read(0).data)

    ballast.unlink()

    assert agent.wait(250) == 0
    assert (files.outcome().reason, files.outcome().pushed_bytes) == (Reason.DONE, 10 << 20)


def test_outputs_refused_by_full_store_are_named(small):
    (small.home / "ballast").write_bytes(bytes(6 << 20))
    small.limits = replace(small.limits, store=1)
    files = small.plan(
        "open('/home/ma-user/out/model', 'wb').write(bytes(10 << 20))",
        push=(Push("/home/ma-user/out", "obs://bucket/out", "train_url"),),
    )

    outcome = small.run(files)

    assert (outcome.reason, outcome.stored) == (Reason.DISK_FULL, False)
    (left,) = outcome.unstored
    assert Path(left.path, "model").stat().st_size == 10 << 20
    assert f"the only copy of train_url is in {left.path}" in small.log(files)
