"""TensorBoard as a process of its own."""

import pytest

from danlu.errors import Refused
from ti.tensorflow import board


def test_it_ends_with_the_program_that_started_it(tmp_path):
    process = board._start(str(tmp_path))
    try:
        assert board._url(process).startswith("http://127.0.0.1:")

        process.stdin.close()  # as the kernel does it for a program that is killed

        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_one_that_does_not_start_says_why_and_the_training_goes_on(monkeypatch, capfd):
    monkeypatch.setattr(board, "_PROGRAM", "import sys\nsys.exit('no such option')")

    with board.shown(None, "job", several=False) as url:
        assert url == ""

    assert capfd.readouterr().out == "TensorBoard did not start.\n  no such option\n"


def test_where_there_is_none_it_is_said_before_anything_runs(monkeypatch):
    monkeypatch.setattr(board, "find_spec", lambda name: None)

    with pytest.raises(Refused, match="TensorBoard is not installed here"):
        board.check(wait=True)
