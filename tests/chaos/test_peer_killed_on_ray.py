"""One process of several is killed, and they run on the nodes of a Ray cluster."""

import os

import pytest

from chaos.test_peer_killed import INTERVAL, MANY, Kills, trainings
from contracts.s3_server import ACCESS, SECRET, SmallS3, serve
from danlu.client import connect
from danlu.executors.warm_pool import WarmPool
from danlu.settings import load
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
            "DANLU_SHARE_TMP": "true",  # tests and their scripts meet below /tmp
            "DANLU_RETRY_DELAY": "0",  # doubled with every kill: minutes in the end
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


@pytest.fixture
def waiting(settings, tmp_path):
    """Processes with TensorFlow loaded: four that load it at each attempt would take most time."""
    waiting = WarmPool(tmp_path / "node", 4)
    yield waiting
    waiting.close()


@pytest.mark.parametrize("victim", ["worker-0", "worker-1", "ps-1"])
def test_job_continues_from_checkpoint_after_killed_task(
    settings, waiting, tmp_path, chance, measured, victim
):
    with trainings(settings, tmp_path) as begin:
        training = begin("plain", 40 + 4 * INTERVAL * MANY, MANY)
        kills = Kills(training)
        for attempt in range(1, MANY + 1):
            # Past a checkpoint that has reached the store: what is on the node may be lost with it.
            training.at_step(attempt, INTERVAL + chance.randint(1, INTERVAL))
            waiting.reconcile()  # the first attempts are cold
            kills.kill(attempt, training.processes(attempt, victim)[0])
        kills.cost(measured, f"F10 ray {victim}", {"killed": MANY})
