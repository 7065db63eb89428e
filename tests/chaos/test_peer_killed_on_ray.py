"""One process of several is killed, and they run on the nodes of a Ray cluster."""

import os
import signal
import time

import pytest

from chaos.test_peer_killed import INTERVAL, MANY, SURVIVORS, Training
from danlu.client import connect
from danlu.settings import load
from danlu.testing.s3_server import serve
from danlu.testing.s3_service import ACCESS, SECRET, SmallS3
from ray_cluster import SECOND, THIRD, TOKEN, running_cluster

# The quick form is in tests/programs/test_ray.py: four processes with TensorFlow take their time.
pytestmark = [
    *(pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(14400)),
    pytest.mark.filterwarnings("default"),  # Ray's own
]


@pytest.fixture(scope="module")
def cluster():
    with running_cluster(num_cpus=0) as cluster:
        cluster.join(SECOND, num_cpus=2)
        cluster.join(THIRD, num_cpus=2)
        yield cluster


@pytest.fixture
def settings(cluster, tmp_path, monkeypatch):
    for name in [n for n in os.environ if n.startswith(("DANLU_", "PYTHON"))]:
        monkeypatch.delenv(name)
    with serve(SmallS3("bucket")) as url:
        variables = {
            "DANLU_HOME": str(tmp_path / "home"),
            "DANLU_RETRY_DELAY": "0.1",
            "DANLU_EXECUTOR": "ray",
            "DANLU_RAY_ADDRESS": cluster.address,
            "DANLU_RAY_TOKEN": TOKEN,
            "DANLU_CLUSTER_STORE": "s3://bucket/danlu",
            "DANLU_NODE_HOME": str(tmp_path / "node"),
            "DANLU_S3_ENDPOINT": url,
            "DANLU_S3_ACCESS_KEY": ACCESS,
            "DANLU_S3_SECRET_KEY": SECRET,
            "DANLU_MIRROR_INTERVAL": "0.5",
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        settings = load()
        yield settings
        connect(settings).shutdown()


@pytest.mark.parametrize("victim", ["worker-0", "worker-1", "ps-1"])
def test_whichever_task_is_killed_the_job_goes_on_from_its_checkpoint(
    settings, tmp_path, chance, measured, victim
):
    count = MANY
    training = Training(settings, "plain", 40 + 4 * INTERVAL * count, count, tmp_path)
    lost, ended, resumed = [], [], []
    for attempt in range(1, count + 1):
        # Past a checkpoint that has reached the store: what is on the node may be lost with it.
        training.at_step(attempt, INTERVAL + chance.randint(1, INTERVAL))
        os.kill(training.processes(attempt, victim)[0], signal.SIGKILL)
        began = time.monotonic()
        training.until(lambda: not training.processes(attempt), "survivors do not stop")  # noqa: B023
        ended.append(time.monotonic() - began)
        training.at_step(attempt + 1, 1)
        resumed.append(time.monotonic() - began)
        lost.append(training.lost(attempt))

    view = training.client.wait(training.id, timeout=600)
    training.client.close()
    assert (view["state"], view["attempt"]) == ("succeeded", count + 1), view
    assert view["retried"] == {"killed": count}
    assert training.processes() == []
    measured(
        f"F10 ray {victim}",
        kills=count,
        interval=INTERVAL,
        most_steps_lost=max(steps for steps, _ in lost),
        slowest_end=round(max(ended), 1),
        slowest_resume=round(max(resumed), 1),
    )
    assert max(ended) <= SURVIVORS
    for steps_lost, meanwhile in lost:
        assert 0 <= steps_lost <= INTERVAL + meanwhile
