"""What every executor must do. Subclass :class:`ExecutorContract` and give its two fixtures.

The tests start real agents with real scripts, and kill them on purpose.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.executors.api import Executor
from danlu.job.curves import Curve, Curves
from danlu.job.plan import Push, Role, Task
from danlu.job.state import Reason
from danlu.job.status import Agent, Steps
from danlu.job.translation import Note, Translation
from danlu.testing.bench import WAITS_FOR_EVER, Bench, eventually
from danlu.testing.executor_room import RoomContract


class ExecutorContract(RoomContract):
    """Needs fixtures ``open_executor`` and ``agent_of``; room for two tasks and two GPUs."""

    @pytest.fixture
    def open_executor(self) -> Callable[[], Executor]:
        """Return a new executor over the same state: the server was killed and is back."""
        raise NotImplementedError

    @pytest.fixture
    def agent_of(self) -> Callable[[Task], Agent | None]:
        """Return who has claimed a task."""
        raise NotImplementedError

    @pytest.fixture
    def bench(self, open_executor: Callable[[], Executor], tmp_path: Path) -> Iterator[Bench]:
        folder = tmp_path / "scripts of 小王"
        folder.mkdir()
        bench = Bench(open_executor(), folder)
        yield bench
        for pid in bench.processes():
            os.kill(pid, signal.SIGKILL)

    # Life.

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

    def test_a_task_that_has_ended_takes_nothing_from_one_that_goes_on(self, bench: Bench) -> None:
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
        bench.stop(first)  # and its agent has left
        go.touch()

        assert bench.ended(second).reason is Reason.DONE
        assert str(sorted(os.listdir("/"))) in bench.log(second)

    def test_what_the_code_of_a_task_needed_is_told(
        self, bench: Bench, open_executor: Callable[[], Executor]
    ) -> None:
        task = bench.task(
            "import json, os\n"
            "note = {'kind': 'mapped', 'text': '改', 'file': 'train.py', 'line': 3}\n"
            "with open(os.environ['DANLU_BOX'] + '/translation.jsonl', 'a') as file:\n"
            "    file.write(json.dumps(note) + '\\n')\n"
            "raise SystemExit(1)"
        )
        assert bench.executor.translation(bench.job_id, 1, task.name) == Translation()

        bench.start(task)
        bench.ended(task)

        told = open_executor().translation(bench.job_id, 1, task.name)
        assert told == Translation((Note("mapped", "改", "train.py", 3),))

    def test_how_far_a_training_is_and_its_curves_are_told(
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
        assert bench.executor.curves(bench.job_id, 1, task.name) == Curves()

        bench.start(replace(task, command=command))
        bench.ended(task)

        status = open_executor().poll(bench.job_id, [task])[0]
        assert status.progress is not None
        assert status.progress.steps == Steps(7, 9, 0.5, 2.0)
        told = open_executor().curves(bench.job_id, 1, task.name)
        assert told == Curves((Curve(".", "损失", ((7, 1.0, 0.25),)),))

    def test_secrets_reach_the_script_and_leave_no_file(self, bench: Bench, tmp_path: Path) -> None:
        script = "import os\nprint(os.environ['AK'][::-1])"
        task = replace(bench.task(script), secrets=("AK",))

        bench.start(task, secrets={"AK": "canary-57183", "OTHER": "not asked for"})

        bench.ended(task)
        assert "38175-yranac" in bench.log(task)
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert [path for path in files if b"canary-57183" in path.read_bytes()] == []

    # Faults.

    def test_an_agent_that_was_killed_is_lost_and_leaves_nothing(
        self, bench: Bench, agent_of: Callable[[Task], Agent | None]
    ) -> None:
        task = bench.task(WAITS_FOR_EVER)
        bench.start(task)
        bench.says(task, "here")
        agent = agent_of(task)
        assert agent is not None

        os.kill(agent.pid, signal.SIGKILL)

        eventually(lambda: bench.executor.poll(bench.job_id, [task])[0].lost)
        bench.stop(task)
        assert bench.processes() == []

    def test_a_newer_attempt_sends_the_older_one_away(self, bench: Bench) -> None:
        old = bench.task(WAITS_FOR_EVER)
        bench.start(old)
        bench.says(old, "here")

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
        bench.says(task, "here")
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

        bench.executor.remove(bench.job_id)
        bench.executor.remove(bench.job_id)

        # os.walk, not rglob: it minds nothing that goes while it looks.
        eventually(lambda: bench.job_id not in " ".join(str(found) for found in os.walk(tmp_path)))
        assert bench.job_id not in bench.executor.held()
