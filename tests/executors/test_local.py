"""The local executor against the contract: with a stand-in for the agent, and with the agent."""

import sys
from pathlib import Path

import pytest

from danlu.executors.agents import AGENT
from danlu.executors.local import LocalExecutor
from danlu.settings import Settings
from danlu.taskdir.files import TaskDir
from danlu.taskdir.local import FileCarrier
from danlu.testing.executor import ExecutorContract

STAND_IN = (sys.executable, str(Path(__file__).with_name("stand_in_agent.py")))


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
            carrier = FileCarrier(settings.jobs / task.job_id)
            return TaskDir(carrier, task.attempt, task.name).agent()

        return look


class TestWithTheStandIn(LocalContract):
    pass


class TestWithTheAgent(LocalContract):
    agent_command = AGENT
    isolation = "auto"


class TestWithTheAgentAndNoNamespaces(LocalContract):
    agent_command = AGENT
