"""Agents of a server that shares its records: they live no longer than its lease allows."""

import json

import pytest

from danlu.agent.ending import Ending, Why, Wish
from danlu.agent.heartbeat import Beating
from danlu.agent.life import live
from danlu.job.plan import Command, Limits, Place, Task
from danlu.settings import Settings
from danlu.taskdir.files import TaskDir
from danlu.taskdir.local import FileCarrier
from danlu.taskdir.term import Term, read_term, since_boot, write_term


def wish_after_a_beat(home, limits):
    ending = Ending(lambda: Wish(Why.MACHINE, 30))
    files = TaskDir(FileCarrier(home / "jobs" / "j"), 1, "worker-0")
    Beating(files, limits, ending, make_room=lambda: True, home=home).beat()
    return ending.wish


@pytest.mark.parametrize(
    ("ended", "lease", "why"),
    [(-5, 10, None), (5, 10, None), (15, 10, Why.CUT_OFF), (15, 0, None), (None, 10, Why.CUT_OFF)],
)
def test_a_script_is_ended_when_its_server_has_had_no_lease_for_long(tmp_path, ended, lease, why):
    if ended is not None:
        write_term(tmp_path, Term(1, since_boot() - ended))

    wish = wish_after_a_beat(tmp_path, Limits(lease=lease))

    assert wish == (None if why is None else Wish(why, 0))


@pytest.mark.parametrize(
    ("fence", "left"),
    [(1, -1.0), (2, 60.0), (2, -1.0)],
    ids=["ended", "taken again", "taken again and ended"],
)
def test_a_task_of_a_lease_that_has_ended_is_not_begun(tmp_path, fence, left):
    files = TaskDir(FileCarrier(tmp_path / "jobs" / "j"), 1, "worker-0")
    files.write_plan(Task("j", "j", "modelarts", 1, Place("worker", 0), Command("x"), fence=1), {})
    write_term(tmp_path, Term(fence, since_boot() + left))

    live(files, Settings(home=tmp_path))

    assert files.agent() is None


def test_a_term_of_before_a_reboot_has_ended(tmp_path):
    write_term(tmp_path, Term(3, since_boot() + 60))
    file = tmp_path / "lease.json"
    assert read_term(tmp_path).ended_for() < 0

    file.write_text(json.dumps({**json.loads(file.read_text()), "boot": "another"}))

    assert read_term(tmp_path).ended_for() > 0


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"fence": 1'])
def test_a_term_that_cannot_be_read_has_ended(tmp_path, text):
    (tmp_path / "lease.json").write_text(text)

    assert read_term(tmp_path) == Term(0, 0.0)
