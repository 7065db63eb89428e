"""The translation report of a job."""

import json

import pytest

from danlu_runtime.reports import notes


@pytest.fixture
def report(tmp_path, monkeypatch):
    monkeypatch.setenv("DANLU_BOX", str(tmp_path))
    monkeypatch.setenv("DANLU_CODE", str(tmp_path / "code"))
    monkeypatch.setattr(notes, "_noted", set())
    monkeypatch.setattr(notes, "_read", set())
    return tmp_path / "translation.jsonl"


def test_note_is_reported_and_logged_once(report, capsys):
    for _ in range(2):
        notes.note("repaired", "， read as ,", f"{report.parent}/code/a/train.py", 3)

    (line,) = report.read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {
        "kind": "repaired",
        "text": "， read as ,",
        "file": "a/train.py",
        "line": 3,
    }
    assert capsys.readouterr().err == "[danlu] a/train.py:3: ， read as ,\n"


def test_same_text_at_another_line_is_another_note(report):
    notes.note("mapped", "x", "a.py", 1)
    notes.note("mapped", "x", "a.py", 2)

    assert len(report.read_text().splitlines()) == 2


def test_what_is_mapped_or_gone_is_not_printed(report, capsys):
    notes.note("mapped", "np.float read as float", "a.py", 1)
    notes.note("gone", "tf.contrib.x left TensorFlow.", "a.py", 2)

    assert capsys.readouterr().err == ""


def test_a_process_that_comes_later_does_not_repeat(report, capsys):
    report.write_text('{"kind": "repaired", "text": "x", "file": "a.py", "line": 1}\n{"ki')

    notes.note("repaired", "x", "a.py", 1)

    assert capsys.readouterr().err == ""


def test_note_is_logged_without_exchange_directory(monkeypatch, report, capsys):
    monkeypatch.delenv("DANLU_BOX")

    notes.note("repaired", "x")

    assert capsys.readouterr().err == "[danlu] x\n"
    assert not report.exists()


def test_unknown_kind_is_refused(report):
    with pytest.raises(ValueError, match="'fixed'"):
        notes.note("fixed", "x")


def test_caller_is_innermost_line_of_users(task):
    out = task.run(
        """
        from danlu_runtime.reports import notes
        def f():
            return (lambda: notes.caller())()
        print(f())
        """
    )

    assert out == "('train.py', 4)\n"
