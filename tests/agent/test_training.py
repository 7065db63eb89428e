"""Progress of a training reaches the task directory."""

import os
import sys

import pytest

from danlu.agent.reports.progress import CurveReader, find_event_files, find_url_event_files
from danlu.agent.script.processes import Processes
from danlu.job.plan import Push
from danlu.job.status import Curve, Steps
from danlu.taskdir.exchange_dir import ExchangeDir

OUTPUT = Push("/home/ma-user/out", "obs://bucket/out", "train_url")
TRAINS = """
    import json, os, sys, types
    sys.modules["tensorboard.compat.notf"] = types.ModuleType("tensorboard.compat.notf")
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.record_writer import RecordWriter

    def told(step, total=100):
        box = os.environ["DANLU_BOX"]
        with open(box + "/.mine", "w") as file:
            json.dump({"step": step, "total": total, "rate": 2.5, "time": 1000.0}, file)
        os.replace(box + "/.mine", box + "/progress.json")

    def wrote(run, step, value):
        os.makedirs(f"{sys.argv[1]}/{run}", exist_ok=True)
        with open(f"{sys.argv[1]}/{run}/events.out.tfevents.1", "ab") as file:
            summary = Summary(value=[Summary.Value(tag="loss", simple_value=value)])
            event = Event(wall_time=1000.0 + step, step=step, summary=summary)
            RecordWriter(file).write(event.SerializeToString())
"""


def _plan(bench, script):
    root = "" if bench.isolation.private_paths else str(bench.workspace() / "root")
    return bench.plan(TRAINS + script, args=(root + OUTPUT.path,), push=(OUTPUT,))


def test_steps_and_curves_of_failed_script_are_kept(each_bench):
    files = _plan(
        each_bench,
        """
    for step in (1, 2):
        told(step)
        wrote(".", step, 3.0 / step)
        wrote("eval", step, 0.5)
    raise SystemExit(3)
    """,
    )

    assert each_bench.run(files).exit_code == 3

    progress = files.progress()
    assert progress.steps == Steps(2, 100, 2.5, 1000.0)
    assert files.curves().curves == (
        Curve(".", "loss", ((1, 1001.0, 3.0), (2, 1002.0, 1.5))),
        Curve("eval", "loss", ((1, 1001.0, 0.5), (2, 1002.0, 0.5))),
    )


def test_steps_and_curves_are_reported_during_run(bench, until):
    files = _plan(
        bench,
        """
    import time
    told(1)
    wrote(".", 1, 3.0)
    while not os.path.exists(sys.argv[1] + "/go"):
        time.sleep(0.01)
    told(2)
    wrote(".", 2, 1.0)
    """,
    )
    process = bench.start(files)

    until(lambda: files.progress() and files.progress().steps == Steps(1, 100, 2.5, 1000.0))
    until(lambda: [len(curve.points) for curve in files.curves().curves] == [1])
    (bench.workspace() / "root" / OUTPUT.path.lstrip("/") / "go").touch()
    process.wait(60)

    assert files.progress().steps.step == 2
    assert len(files.curves().curves[0].points) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"step": -1, "total": null, "rate": 1, "time": 1}',
        '{"step": 1.5, "total": null, "rate": 1, "time": 1}',
        '{"step": 1, "total": "many", "rate": 1, "time": 1}',
        '{"step": 1, "total": null, "rate": NaN, "time": 1}',
        '{"step": 1, "total": null, "rate": 1}',
        '{"step": 1e400, "total": null, "rate": 1, "time": 1}',
        "[" * 100_000,
    ],
)
def test_what_is_no_progress_is_passed_over(tmp_path, text):
    (tmp_path / "progress.json").write_text(text)

    assert ExchangeDir(tmp_path).steps() is None


def test_link_in_place_of_progress_is_not_followed(tmp_path):
    (tmp_path / "real").write_text('{"step": 1, "total": null, "rate": 1, "time": 1}')
    (tmp_path / "progress.json").symlink_to("real")

    assert ExchangeDir(tmp_path).steps() is None


def test_only_event_files_are_opened(tmp_path):
    for name in ("events.out.tfevents.2", "events.out.tfevents.1", "a/tfevents", "model.ckpt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    os.mkfifo(tmp_path / "pipe.tfevents")
    (tmp_path / "link.tfevents").symlink_to("model.ckpt")
    (tmp_path / "b").symlink_to("a")
    other = tmp_path / "a"

    found = [(run, os.path.basename(path)) for run, path in find_event_files({OUTPUT: tmp_path})]
    assert found == [
        (".", "events.out.tfevents.1"),
        (".", "events.out.tfevents.2"),
        ("a", "tfevents"),
    ]
    both = {OUTPUT: tmp_path, Push("/x", "obs://bucket/x", "log"): other}
    assert [run for run, _ in find_event_files(both)] == ["train_url"] * 2 + ["train_url/a", "log"]


@pytest.mark.parametrize(
    "program",
    ["raise SystemExit(1)", "import time; time.sleep(60)", "input(); print('no JSON')"],
)
def test_reader_that_is_of_no_use_is_abandoned(tmp_path, program):
    processes = Processes("none", None)
    reader = CurveReader(processes, [sys.executable, "-c", program])

    assert [reader.ask([(".", "x")], 0.5) for _ in range(5)] == [None] * 5
    assert processes.spared == set()


def test_reader_survives_end_of_script_processes(tmp_path):
    processes = Processes("none", None)
    processes.spared |= processes.pids()  # what other tests have started is no script's
    program = 'while True: input(); print(\'{"curves": [], "left_out": 7}\', flush=True)'
    reader = CurveReader(processes, [sys.executable, "-c", program])
    reader.ask([], 30)

    assert processes.pids() == set()
    processes.kill()
    answer = reader.ask([], 30)
    reader.close()

    assert answer is not None
    assert answer.left_out == 7


def test_runs_of_event_urls_are_below_argument_urls(tmp_path):
    for name in ("s3/b/log/events.out.tfevents.1", "s3/b/log/eval/events.out.tfevents.2"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "ks3" / "else").mkdir(parents=True)
    (tmp_path / "ks3" / "else" / "events.out.tfevents.3").touch()
    (tmp_path / "s3" / "b" / "log" / "events.out.tfevents.link").symlink_to("/etc/passwd")

    found = find_url_event_files(tmp_path, ("--data_url=", "--train_url=s3://b/log/", "x"))

    assert [(run, path.removeprefix(f"{tmp_path}/")) for run, path in sorted(found)] == [
        (".", "s3/b/log/events.out.tfevents.1"),
        ("eval", "s3/b/log/eval/events.out.tfevents.2"),
        ("ks3://else", "ks3/else/events.out.tfevents.3"),
    ]


def test_curves_of_remote_event_files_are_kept(bench):
    script = """
    sys.argv[1] = os.environ["DANLU_BOX"] + "/events/s3/bucket/log"
    wrote("eval", 1, 3.0)
    """
    files = bench.plan(TRAINS + script, args=("--train_url=s3://bucket/log",))

    assert bench.run(files).exit_code == 0

    assert files.curves().curves == (Curve("eval", "loss", ((1, 1001.0, 3.0),)),)
    assert not list(bench.workspace().rglob("*tfevents*"))
