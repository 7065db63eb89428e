"""The local executor against the contract: with a stand-in for the agent, and with the agent."""

import sys
from pathlib import Path

import pytest

from contracts.executor import WAITS_FOR_EVER, ExecutorContract, eventually
from danlu.executors.agents import AGENT
from danlu.executors.local import LocalExecutor
from danlu.job.plan import Role
from danlu.settings import Settings
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles

STAND_IN = (sys.executable, str(Path(__file__).with_name("fake_agent.py")))


class LocalContract(ExecutorContract):
    agent_command = STAND_IN
    isolation = "none"

    @pytest.fixture
    def settings(self, tmp_path):
        return Settings(
            home=tmp_path / "home", cpus=2, gpus="0,GPU-1", isolation=self.isolation, heartbeat=0.1
        )

    @pytest.fixture
    def open_executor(self, settings):
        return lambda: LocalExecutor(settings, agent_command=self.agent_command)

    @pytest.fixture
    def agent_of(self, settings):
        def look(task):
            store = LocalJobFiles(settings.jobs / task.job_id)
            return TaskDir(store, task.attempt, task.name).agent()

        return look

    def test_task_run_by_another_server_ends_silently(self, bench):
        task = bench.task(WAITS_FOR_EVER)
        bench.start(task)
        bench.prints(task, "here")

        eventually(lambda: bench.executor.revoke(task.job_id))

        assert bench.processes() == []
        bench.start(task)
        assert bench.processes() == []
        assert bench.executor.poll(task.job_id, [task])[0].outcome is None
        assert bench.executor.revoke("0000000000zz")

    def test_attempt_after_others_elsewhere_has_own_workspace(self, bench, settings):
        role = Role("worker")

        (place,) = bench.executor.reserve("0000000000yy", [role], 3)
        (again,) = bench.executor.reserve("0000000000yy", [role], 3)

        assert place == again
        assert place.root in ("", str(settings.work / "0000000000yy" / "3" / "worker-0" / "root"))


class TestWithTheStandIn(LocalContract):
    pass


class TestWithTheAgent(LocalContract):
    agent_command = AGENT
    isolation = "auto"


class TestWithTheAgentAndNoNamespaces(LocalContract):
    agent_command = AGENT
