"""A server is killed before and after every single thing it does: the next makes up for it.

What it does is its calls of the records, the executor and the secrets, which outlive it.
"""

import itertools
import math

import pytest

from danlu.errors import NotFound
from danlu.job.state import JobState, Reason
from danlu.service.jobs.secrets import SecretFiles


class Killed(BaseException):
    """The process is gone: no handler catches this, and whatever is tried after it is not done."""


class Life:
    """The calls a server makes until it is killed: before or after the last of them is ``done``."""

    def __init__(self, calls, done):
        self.left, self.done = calls, done

    def through(self, part):
        return Part(part, self)

    def call(self, method, *args, **kwargs):
        if self.left > 1:
            self.left -= 1
            return method(*args, **kwargs)
        if self.left == 1 and self.done:
            method(*args, **kwargs)
        self.left = 0
        raise Killed


class Part:
    """Records, executor or secrets, as a server that will be killed sees them."""

    def __init__(self, part, life):
        self._part, self._life = part, life

    def __getattr__(self, name):
        found = getattr(self._part, name)
        return (lambda *a, **k: self._life.call(found, *a, **k)) if callable(found) else found


class World:
    """A user who insists and a machine whose tasks end; the server dies once, and comes back."""

    def __init__(self, platform, request, life):
        self.platform, self.request = platform, request
        platform.through = life.through
        platform.assemble()

    def insist(self, act):
        try:
            return act()
        except Killed:
            self.platform.through = lambda part: part
            self.platform.secrets = SecretFiles(self.platform.settings.home / "secrets")
            self.platform.assemble()
            self.platform.supervisor._recovery.after_crash()
            return act()

    def submit(self, **more):
        asked, secrets = {**self.request, **more}, {"KEY": "value"}
        self.id = self.insist(
            lambda: self.platform.service.submit(asked, token="once", secrets=secrets)
        ).id

    def goes_on_until(self, state, attempt=1):
        for _ in range(20):
            self.insist(lambda: self.platform.tick(10))
            job = self.platform.records.get(self.id)
            if (job.state, job.attempt) == (state, attempt):
                return
        raise AssertionError(f"{job.state} at attempt {job.attempt}")


def runs(world):
    world.submit()
    world.goes_on_until(JobState.RUNNING)
    world.platform.executor.end(world.id, 1, "worker-0")
    world.goes_on_until(JobState.SUCCEEDED)


def is_tried_again(world):
    world.submit()
    world.goes_on_until(JobState.RUNNING)
    world.platform.executor.lose(world.id, 1, "worker-0")
    world.goes_on_until(JobState.RUNNING, attempt=2)
    world.platform.executor.end(world.id, 2, "worker-0")
    world.goes_on_until(JobState.SUCCEEDED, attempt=2)


def fails(world):
    world.submit(nodes=2)
    world.goes_on_until(JobState.RUNNING)
    world.platform.executor.end(world.id, 1, "worker-1", reason=Reason.SCRIPT_FAILED)
    world.goes_on_until(JobState.FAILED)


def has_parameter_servers(world):
    world.submit(nodes=2)
    world.goes_on_until(JobState.RUNNING)
    for task in ("worker-0", "worker-1"):
        world.platform.executor.end(world.id, 1, task)
    world.goes_on_until(JobState.SUCCEEDED)


def is_stopped(world):
    world.submit()
    world.goes_on_until(JobState.RUNNING)
    world.insist(lambda: world.platform.service.stop(world.id))
    world.goes_on_until(JobState.STOPPED)


STARTED = {
    runs: ["1/worker-0"],
    is_tried_again: ["1/worker-0", "2/worker-0"],
    fails: ["1/ps-0", "1/ps-1", "1/worker-0", "1/worker-1"],
    has_parameter_servers: ["1/ps-0", "1/ps-1", "1/worker-0", "1/worker-1"],
    is_stopped: ["1/worker-0"],
}


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("story", STARTED, ids=lambda story: story.__name__)
def test_a_job_ends_as_it_would_have(platform_in, tmp_path, request_of, story, done):
    def reported(life):
        platform = platform_in(tmp_path / str(life.left))
        platform.executor.cpus = 8
        story(World(platform, request_of, life))
        return summary(platform)

    expected = reported(Life(math.inf, done))
    assert expected["started"] == STARTED[story]
    for calls in itertools.count(1):
        life = Life(calls, done)
        assert reported(life) == expected, f"killed at call {calls}"
        if life.left:
            break  # it came to its end
    assert calls > 10


def summary(platform):
    """Return everything that is left of it, but for its id and the time of day."""
    (job,) = platform.records.page()
    return {
        "states": [(each.state, each.attempt, each.reason) for each in job.history],
        "retried": job.retried,
        "started": sorted(name.partition("/")[2] for name in platform.executor.started),
        "held": platform.executor.held(),
        "cleared": job.id in platform.executor.cleared,
        "secrets": list((platform.settings.home / "secrets").glob("*")),
        "given": platform.executor.secrets.get(job.id),
    }


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_removed_job_is_gone_with_its_files(platform_in, tmp_path, request_of, done):
    for calls in itertools.count(1):
        platform = platform_in(tmp_path / str(calls))
        world = World(platform, request_of, Life(math.inf, done))
        runs(world)
        life = Life(calls, done)
        platform.through = life.through
        platform.assemble()
        try:
            world.insist(lambda: platform.service.remove(world.id))  # noqa: B023
        except NotFound:
            assert done  # the first time was enough
        assert world.id in platform.executor.removed
        assert not platform.records.page()
        if life.left:
            break
    assert calls > 2
