"""The Ray executor against the contract of every executor, with the real agent."""

import pytest

from contracts.executor import ExecutorContract
from contracts.taskdir import JobFileStoreContract
from danlu.executors.ray.access import Access
from danlu.executors.ray.executor import RayExecutor, RayTimeouts
from danlu.executors.ray.link import Link
from danlu.settings import Secret, Settings
from danlu.storage.locate import jobs_place
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import StoredJobFiles
from ray_cluster import SECOND, TOKEN, running_cluster

pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("default"),  # Ray's own
]


class TestStoredJobFilesOnDisk(JobFileStoreContract):
    """The store of the tests below keeps the contract that they rely on."""

    @pytest.fixture
    def store(self, tmp_path):
        place = jobs_place(Settings(home=tmp_path, store_shared=True))
        return StoredJobFiles(place.storage, place.prefix + "abc")


@pytest.fixture(scope="module")
def cluster():
    """A head that runs nothing, and a node with capacity for two tasks and two GPUs."""
    with running_cluster(num_cpus=0) as cluster:
        cluster.join(SECOND, num_cpus=2, num_gpus=2)
        yield cluster


@pytest.fixture(scope="module")
def link(cluster):
    """One driver for all: it takes seconds to start, and keeps nothing that is not in Ray."""
    link = Link(lambda: Access(cluster.address, Secret(TOKEN)), "danlu-contract")
    yield link
    link.close()


class TestRayExecutor(ExecutorContract):
    isolation = "auto"

    @pytest.mark.smoke
    def test_a_task_runs_and_ends_well(self, bench):
        super().test_a_task_runs_and_ends_well(bench)

    @pytest.fixture
    def settings(self, tmp_path):
        return Settings(
            home=tmp_path / "home",
            store_shared=True,
            node_home=str(tmp_path / "node"),
            isolation=self.isolation,
        )

    @pytest.fixture
    def open_executor(self, settings, link):
        opened = []

        def open_one():
            opened.append(
                RayExecutor(settings, link=link, timeouts=RayTimeouts(5, 60), heartbeat=0.2)
            )
            return opened[-1]

        yield open_one
        for job_id in link.call("held"):
            link.call("release", job_id=job_id)

    @pytest.fixture
    def agent_of(self, settings):
        def look(task):
            place = jobs_place(settings)
            store = StoredJobFiles(place.storage, place.prefix + task.job_id)
            return TaskDir(store, task.attempt, task.name).agent()

        return look
