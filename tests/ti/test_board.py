"""TensorBoard as a process of its own."""

import math
import threading

import pytest

from danlu.agent.reports.curves import EventFileReader as Reader
from danlu.errors import Refused, Unavailable
from ti.tensorflow import board


def test_it_ends_with_the_program_that_started_it(tmp_path):
    process = board._start(str(tmp_path))
    try:
        assert board._url(process).startswith("http://127.0.0.1:")

        process.stdin.close()  # as the kernel does it for a program that is killed

        assert process.wait(100) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_failed_tensorboard_start_is_reported(monkeypatch, capfd):
    monkeypatch.setattr(board, "_PROGRAM", "import sys\nsys.exit('no such option')")

    with board.shown(None, "job", several=False) as url:
        assert url == ""

    assert capfd.readouterr().out == "TensorBoard did not start.\n  no such option\n"


def test_missing_tensorboard_is_reported_before_the_run(monkeypatch):
    monkeypatch.setattr(board, "find_spec", lambda name: None)

    with pytest.raises(Refused, match="TensorBoard is not installed here"):
        board.check(wait=True)


class Curves:
    """Returns the same points repeatedly, and one more each time; ``seen`` when it was asked."""

    def __init__(self, times):
        self.left = times
        self.seen = threading.Event()
        self.points = []

    def curves(self, name):
        assert name == "job"
        self.points.append([len(self.points) + 1, 1000.0, 0.5])
        self.left -= 1
        if not self.left:
            self.seen.set()
            raise Unavailable("The server has left.")
        one = {"task": "worker-0", "run": "train", "tag": "loss", "points": list(self.points)}
        curve = {"task": "chief", "run": "eval", "tag": "odd", "points": [[1, 1000.0, "NaN"]]}
        return {"curves": [one, curve]}


@pytest.mark.parametrize(
    ("several", "runs"),
    [(False, {"train", "eval"}), (True, {"worker-0/train", "chief/eval"})],
)
def test_curves_are_written_for_it_each_point_once(tmp_path, monkeypatch, several, runs):
    monkeypatch.setattr(board, "_INTERVAL", 0)
    client = Curves(times=4)
    copying = board._Copying(client, "job", tmp_path, several)
    copying.thread.start()
    assert client.seen.wait(60)
    copying.end()

    found = {}
    for path in tmp_path.rglob("*tfevents*"):
        points = [(scalar.step, scalar.tag) for scalar in Reader(str(path)).read()]
        found[path.parent.relative_to(tmp_path).as_posix()] = points
    losses = [(step, "loss") for step in (1, 2, 3)]
    assert found == dict(zip(sorted(runs), [[(1, "odd")], losses], strict=True))


@pytest.mark.parametrize(
    ("reported", "meant"),
    [(0.5, 0.5), ("Infinity", math.inf), ("-Infinity", -math.inf), ("NaN", math.nan)],
)
def test_value_json_has_no_number_for_is_reported(reported, meant):
    assert repr(board._number(reported)) == repr(meant)
