"""The contract tests for executors. Subclass :class:`ExecutorContract` and define two fixtures.

The tests start real agents with real scripts, and kill some of them.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.errors import InvalidJob, NoCapacity
from danlu.executors.api import Executor
from danlu.job.job import new_id
from danlu.job.plan import Command, Limits, Place, Push, Role, Task
from danlu.job.state import Reason
from danlu.job.status import Agent, Curve, Curves, Note, Outcome, Steps, Translation
from danlu.taskdir.processes import task_pids

LIMITS = Limits(heartbeat=0.1, grace=2.0, mirror=1.0)
WAITS_FOR_EVER = "import time\nprint('here', flush=True)\ntime.sleep(600)\n"


def eventually(holds: Callable[[], object], *, within: float = 60.0) -> None:
    """Wait until ``holds`` returns a true value; fail after ``within`` seconds."""
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"did not come true within {within:g} s")
        time.sleep(0.02)


class Bench:
    """One job and a folder for its scripts, to test an executor."""

    def __init__(self, executor: Executor, folder: Path) -> None:
        self.executor = executor
        self.folder = folder
        self.job_id = new_id()

    def task(self, script: str, *, attempt: int = 1, place: Place | None = None) -> Task:
        """Return a task that runs ``script``. Reserves an allocation if ``place`` is not given."""
        place = place or self.executor.reserve(self.job_id, [Role("worker")])[0]
        path = self.folder / f"{place.task}-{attempt}.py"
        path.write_text(script, encoding="utf-8")
        command = Command(run=str(path), cwd=str(self.folder), private=())
        return Task(self.job_id, "trial", "modelarts", attempt, place, command, LIMITS)

    def start(self, *tasks: Task, secrets: Mapping[str, str] | None = None) -> None:
        self.executor.start(self.job_id, tasks, secrets or {})

    def outcome(self, task: Task) -> Outcome | None:
        return self.executor.poll(self.job_id, [task])[0].outcome

    def ended(self, task: Task) -> Outcome:
        eventually(lambda: self.outcome(task))
        outcome = self.outcome(task)
        assert outcome is not None
        return outcome

    def log(self, task: Task) -> str:
        reader = self.executor.files(self.job_id, task.attempt, task.name).log_reader()
        return reader.read(0).data.decode()

    def prints(self, task: Task, text: str) -> None:
        eventually(lambda: text in self.log(task))

    def stop(self, *tasks: Task, grace: float = 1.0) -> None:
        eventually(lambda: self.executor.stop(self.job_id, tasks, grace=grace))

    def processes(self) -> list[int]:
        return list(task_pids(f"{self.job_id}/"))


class CapacityContract:
    """Tests of capacity and reservations. Uses the fixtures of :class:`ExecutorContract`."""

    def test_a_place_holds_nothing(self, bench: Bench) -> None:
        bench.executor.place(bench.job_id, [Role("worker", count=2)])

        assert list(bench.executor.held()) == []

    def test_a_job_that_can_never_fit_is_reported(self, bench: Bench) -> None:
        capacity = bench.executor.capacity()

        with pytest.raises(InvalidJob) as caught:
            bench.executor.place(bench.job_id, [Role("worker", cpus=capacity.cpus + 1)])

        # A machine reports the limit of each task, a cluster that it is too small.
        assert [field for field, _ in caught.value.faults] in (["cpus"], ["nodes"])

    def test_tasks_too_large_together_are_reported(self, bench: Bench) -> None:
        capacity = bench.executor.capacity()

        with pytest.raises(InvalidJob) as caught:
            bench.executor.place(bench.job_id, [Role("worker", count=int(capacity.cpus) + 1)])

        # A machine reports the limit of each task, a cluster that it is too small.
        assert [field for field, _ in caught.value.faults] in (["cpus"], ["nodes"])

    def test_capacity_is_held_for_all_or_none(self, bench: Bench) -> None:
        capacity = bench.executor.capacity()
        bench.executor.reserve(new_id(), [Role("worker", cpus=capacity.cpus - 1)])

        with pytest.raises(NoCapacity):
            bench.executor.reserve(bench.job_id, [Role("worker", count=2)])

        assert bench.job_id not in bench.executor.held()
        assert bench.executor.reserve(bench.job_id, [Role("worker")])

    def test_asked_again_the_places_are_the_same(
        self, bench: Bench, open_executor: Callable[[], Executor]
    ) -> None:
        roles = [Role("ps", cpus=0.5, decides=False), Role("worker", cpus=0.5)]

        first = bench.executor.reserve(bench.job_id, roles)

        assert list(bench.executor.reserve(bench.job_id, roles)) == list(first)
        assert list(open_executor().reserve(bench.job_id, roles)) == list(first)

    def test_capacity_held_before_a_restart_is_still_held(
        self, bench: Bench, open_executor: Callable[[], Executor]
    ) -> None:
        whole = [Role("worker", cpus=bench.executor.capacity().cpus)]
        bench.executor.reserve(bench.job_id, whole)

        after = open_executor()

        assert list(after.held()) == [bench.job_id]
        with pytest.raises(NoCapacity):
            after.reserve(new_id(), whole)
        after.release(bench.job_id)
        after.release(bench.job_id)
        assert after.reserve(new_id(), whole)

    def test_no_gpu_is_given_to_two_tasks(self, bench: Bench) -> None:
        first = bench.executor.reserve(bench.job_id, [Role("worker", gpus=1)])
        second = bench.executor.reserve(new_id(), [Role("worker", gpus=1)])

        assert len({*first[0].gpus, *second[0].gpus}) == 2

    def test_tasks_of_one_job_know_each_other(self, bench: Bench) -> None:
        places = bench.executor.reserve(
            bench.job_id, [Role("ps", decides=False), Role("worker", cpus=0.5, count=2)]
        )

        assert [place.task for place in places] == ["ps-0", "worker-0", "worker-1"]
        assert len({place.port for place in places}) == 3
        peers = [f"{place.host}:{place.port}" for place in places]
        assert places[2].peers == {"ps": (peers[0],), "worker": (peers[1], peers[2])}


class ExecutorContract(CapacityContract):
    """All tests that an executor must pass.

    Requires the fixtures ``open_executor`` and ``agent_of``, and capacity for two tasks and two
    GPUs.
    """

    @pytest.fixture
    def open_executor(self) -> Callable[[], Executor]:
        """Return a function that opens an executor on the same state, as a restart does."""
        raise NotImplementedError

    @pytest.fixture
    def agent_of(self) -> Callable[[Task], Agent | None]:
        """Return a function that returns the agent that has claimed a task."""
        raise NotImplementedError

    @pytest.fixture
    def bench(self, open_executor: Callable[[], Executor], tmp_path: Path) -> Iterator[Bench]:
        folder = tmp_path / "scripts of 小王"
        folder.mkdir()
        bench = Bench(open_executor(), folder)
        yield bench
        for pid in bench.processes():
            os.kill(pid, signal.SIGKILL)

    # Normal operation.

    def test_a_task_runs_and_ends_well(self, bench: Bench) -> None:
        task = bench.task("print('hello 世界')")

        bench.start(task)

        assert (bench.ended(task).reason, bench.ended(task).exit_code) == (Reason.DONE, 0)
        assert "hello 世界\n" in bench.log(task)
        assert not bench.executor.poll(bench.job_id, [task])[0].lost

    def test_the_exit_code_of_a_script_is_kept(self, bench: Bench) -> None:
        task = bench.task("raise SystemExit(7)")

        bench.start(task)

        assert bench.ended(task).exit_code == 7
        assert bench.ended(task).reason is Reason.SCRIPT_FAILED

    def test_starting_again_starts_nothing(
        self, bench: Bench, open_executor: Callable[[], Executor]
    ) -> None:
        runs = bench.folder / "runs"
        task = bench.task(f"open({str(runs)!r}, 'a').write('x')")

        bench.start(task)
        bench.start(task)
        open_executor().start(bench.job_id, [task], {})
        bench.ended(task)
        bench.start(task)
        open_executor().start(bench.job_id, [task], {})

        eventually(lambda: bench.executor.stop(bench.job_id, [task], grace=1))
        assert runs.read_text() == "x"

    def test_a_task_outlives_the_executor_that_started_it(
        self, bench: Bench, open_executor: Callable[[], Executor]
    ) -> None:
        go = bench.folder / "go"
        task = bench.task(
            f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
            "print('went on')\nraise SystemExit(3)"
        )
        bench.start(task)
        eventually(lambda: bench.executor.poll(bench.job_id, [task])[0].claimed)

        bench.executor = open_executor()
        go.touch()

        assert bench.ended(task).exit_code == 3
        assert bench.log(task).count("went on") == 1

    def test_ended_task_removes_nothing_of_running_task(self, bench: Bench) -> None:
        go = bench.folder / "go"
        places = bench.executor.reserve(bench.job_id, [Role("worker", cpus=0.5, count=2)])
        first = bench.task("print('done')", place=places[0])
        second = bench.task(
            f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
            "import wave\nprint('still whole', sorted(os.listdir('/')))",
            place=places[1],
        )

        bench.start(first, second)
        bench.ended(first)
        bench.stop(first)  # its agent has exited too
        go.touch()

        assert bench.ended(second).reason is Reason.DONE
        assert str(sorted(os.listdir("/"))) in bench.log(second)

    def test_what_code_of_task_needed_is_reported(
        self, bench: Bench, open_executor: Callable[[], Executor]
    ) -> None:
        task = bench.task(
            "import json, os\n"
            "note = {'kind': 'mapped', 'text': '改', 'file': 'train.py', 'line': 3}\n"
            "with open(os.environ['DANLU_BOX'] + '/translation.jsonl', 'a') as file:\n"
            "    file.write(json.dumps(note) + '\\n')\n"
            "raise SystemExit(1)"
        )
        assert bench.executor.files(bench.job_id, 1, task.name).translation() == Translation()

        bench.start(task)
        bench.ended(task)

        reported = open_executor().files(bench.job_id, 1, task.name).translation()
        assert reported == Translation((Note("mapped", "改", "train.py", 3),))

    def test_progress_and_curves_are_reported(
        self, bench: Bench, open_executor: Callable[[], Executor]
    ) -> None:
        task = bench.task(
            "import os, sys, types\n"
            "sys.modules['tensorboard.compat.notf'] = types.ModuleType('notf')\n"
            "from tensorboard.compat.proto.event_pb2 import Event\n"
            "from tensorboard.compat.proto.summary_pb2 import Summary\n"
            "from tensorboard.summary.writer.record_writer import RecordWriter\n"
            "with open(os.environ['DANLU_BOX'] + '/progress.json', 'w') as file:\n"
            '    file.write(\'{"step": 7, "total": 9, "rate": 0.5, "time": 2.0}\')\n'
            "with open(sys.argv[1] + '/events.out.tfevents.1', 'wb') as file:\n"
            "    summary = Summary(value=[Summary.Value(tag='损失', simple_value=0.25)])\n"
            "    event = Event(wall_time=1.0, step=7, summary=summary)\n"
            "    RecordWriter(file).write(event.SerializeToString())\n"
            "raise SystemExit(1)"
        )
        output = f"{task.place.root}/home/ma-user/out"
        command = replace(
            task.command,
            args=(output,),
            push=(Push(output, f"file://{bench.folder}/out", "train_url"),),
        )
        assert bench.executor.files(bench.job_id, 1, task.name).curves() == Curves()

        bench.start(replace(task, command=command))
        bench.ended(task)

        status = open_executor().poll(bench.job_id, [task])[0]
        assert status.progress is not None
        assert status.progress.steps == Steps(7, 9, 0.5, 2.0)
        reported = open_executor().files(bench.job_id, 1, task.name).curves()
        assert reported == Curves((Curve(".", "损失", ((7, 1.0, 0.25),)),))

    def test_secrets_reach_the_script_and_leave_no_file(self, bench: Bench, tmp_path: Path) -> None:
        script = "import os\nprint(os.environ['AK'][::-1])"
        task = replace(bench.task(script), secrets=("AK",))

        bench.start(task, secrets={"AK": "canary-57183", "OTHER": "not asked for"})

        bench.ended(task)
        assert "38175-yranac" in bench.log(task)
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert [path for path in files if b"canary-57183" in path.read_bytes()] == []

    # Failures.

    def test_killed_agent_is_lost_and_leaves_nothing(
        self, bench: Bench, agent_of: Callable[[Task], Agent | None]
    ) -> None:
        task = bench.task(WAITS_FOR_EVER)
        bench.start(task)
        bench.prints(task, "here")
        agent = agent_of(task)
        assert agent is not None

        os.kill(agent.pid, signal.SIGKILL)

        eventually(lambda: bench.executor.poll(bench.job_id, [task])[0].lost)
        bench.stop(task)
        assert bench.processes() == []

    def test_a_newer_attempt_sends_the_older_one_away(self, bench: Bench) -> None:
        old = bench.task(WAITS_FOR_EVER)
        bench.start(old)
        bench.prints(old, "here")

        new = bench.task("print('second')", attempt=2, place=old.place)
        bench.start(new)

        assert bench.ended(new).reason is Reason.DONE
        eventually(lambda: bench.processes() == [])
        bench.start(old)
        assert bench.processes() == []

    @pytest.mark.parametrize(
        "script",
        [
            pytest.param(WAITS_FOR_EVER, id="a quiet script"),
            pytest.param(
                "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAITS_FOR_EVER,
                id="one that ignores the request",
            ),
            pytest.param(
                "import subprocess, sys\n"
                "deaf = 'import signal, time; signal.signal(15, 1); time.sleep(600)'\n"
                "for _ in range(3):\n"
                f"    subprocess.Popen([{sys.executable!r}, '-c', deaf], start_new_session=True)\n"
                + WAITS_FOR_EVER,
                id="one with daemons",
            ),
        ],
    )
    def test_stop_leaves_no_process(self, bench: Bench, script: str) -> None:
        task = bench.task(script)
        bench.start(task)
        bench.prints(task, "here")
        assert bench.processes()

        bench.stop(task)

        assert bench.processes() == []
        assert bench.executor.stop(bench.job_id, [task], grace=1)
        outcome = bench.outcome(task)
        assert outcome is None or outcome.reason is Reason.STOPPED_BY_USER

    def test_a_task_stopped_before_it_began_never_begins(self, bench: Bench) -> None:
        task = bench.task(f"open({str(bench.folder / 'ran')!r}, 'w')")

        bench.stop(task)
        bench.start(task)

        bench.stop(task)
        assert not (bench.folder / "ran").exists()

    def test_nothing_is_left_of_a_removed_job(self, bench: Bench, tmp_path: Path) -> None:
        task = bench.task("print('bye')")
        bench.start(task)
        bench.ended(task)
        bench.stop(task)

        bench.executor.clear(bench.job_id, everything=True)
        bench.executor.clear(bench.job_id, everything=True)

        # os.walk, unlike rglob, ignores files that disappear during the walk.
        eventually(lambda: bench.job_id not in " ".join(str(found) for found in os.walk(tmp_path)))
        assert bench.job_id not in bench.executor.held()
