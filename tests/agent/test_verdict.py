"""Why a script ended: a table."""

import signal

import pytest

from danlu.agent.ending import Why
from danlu.agent.verdict import Seen, exit_code, full_disk, judge, last_lines
from danlu.job.state import Reason
from danlu.job.status import Failure, Frame


def exited(code: int) -> int:
    return code << 8


MEMORY = Failure(exception="MemoryError", out_of_memory=True)
DISK = Failure(exception="OSError", disk_full="/cache/x")


@pytest.mark.parametrize(
    ("seen", "wish", "reason"),
    [
        (Seen(exited(0)), None, Reason.DONE),
        (Seen(exited(0)), Why.USER, Reason.STOPPED_BY_USER),
        (Seen(exited(1)), Why.USER, Reason.STOPPED_BY_USER),
        (Seen(signal.SIGTERM), Why.JOB, Reason.ENDED_WITH_JOB),
        (Seen(signal.SIGKILL), Why.TIMED_OUT, Reason.TIMED_OUT),
        (Seen(signal.SIGTERM), Why.MACHINE, Reason.KILLED),
        (Seen(signal.SIGKILL), Why.CUT_OFF, Reason.AGENT_LOST),
        (Seen(exited(1)), None, Reason.SCRIPT_FAILED),
        (Seen(exited(2)), None, Reason.SCRIPT_FAILED),
        (Seen(exited(1), port_taken=True), None, Reason.PORT_TAKEN),
        (Seen(exited(0), port_taken=True), None, Reason.DONE),
        (Seen(signal.SIGKILL, port_taken=True), None, Reason.KILLED),
        (Seen(exited(1), port_taken=True), Why.JOB, Reason.ENDED_WITH_JOB),
        (Seen(exited(1), process_limit=64), None, Reason.TOO_MANY_PROCESSES),
        (Seen(signal.SIGABRT, process_limit=64), None, Reason.TOO_MANY_PROCESSES),
        (Seen(exited(1), port_taken=True, process_limit=64), None, Reason.TOO_MANY_PROCESSES),
        (Seen(exited(0), process_limit=64), None, Reason.DONE),
        (Seen(signal.SIGKILL, process_limit=64), None, Reason.KILLED),
        (Seen(exited(1), MEMORY, process_limit=64), None, Reason.OUT_OF_MEMORY),
        (Seen(exited(1), process_limit=64), Why.USER, Reason.STOPPED_BY_USER),
        (Seen(exited(126)), None, Reason.SCRIPT_FAILED),
        (Seen(exited(127)), None, Reason.SCRIPT_FAILED),
        (Seen(signal.SIGSEGV), None, Reason.SCRIPT_FAILED),
        (Seen(exited(139)), None, Reason.SCRIPT_FAILED),
        (Seen(exited(130)), None, Reason.KILLED),
        (Seen(exited(137)), None, Reason.KILLED),
        (Seen(exited(143)), None, Reason.KILLED),
        (Seen(signal.SIGINT), None, Reason.KILLED),
        (Seen(signal.SIGKILL), None, Reason.KILLED),
        (Seen(signal.SIGTERM), None, Reason.KILLED),
        (Seen(signal.SIGKILL, memory_kills=1), None, Reason.OUT_OF_MEMORY),
        (Seen(signal.SIGTERM, memory_kills=1), None, Reason.KILLED),
        (Seen(exited(1), MEMORY), None, Reason.OUT_OF_MEMORY),
        (Seen(exited(1), DISK), None, Reason.DISK_FULL),
        (Seen(exited(1), full_disk="/work"), None, Reason.DISK_FULL),
        (Seen(exited(1), Failure("ValueError"), full_disk="/work"), None, Reason.SCRIPT_FAILED),
        (Seen(exited(0), full_disk="/work"), None, Reason.DONE),
        (
            Seen(signal.SIGABRT, lines=("what():  std::bad_alloc",)),
            None,
            Reason.OUT_OF_MEMORY,
        ),
        (Seen(signal.SIGABRT), None, Reason.SCRIPT_FAILED),
    ],
)
def test_reasons(seen, wish, reason):
    assert judge(seen, wish)[0] is reason


def test_what_the_script_told_and_what_was_seen_come_together():
    told = Failure(exception="ValueError", message="no", frames=(Frame("a.py", 1),))

    _, failure = judge(Seen(exited(1), told, lines=("a", "b")), None)

    assert (failure.exception, failure.where.file) == ("ValueError", "a.py")
    assert (failure.exit_code, failure.signal, failure.last_lines) == (1, "", ("a", "b"))


def test_a_good_end_has_no_failure():
    assert judge(Seen(exited(0), Failure(exception="SystemExit")), None) == (Reason.DONE, None)


def test_a_crash_is_read_from_outside_in():
    crash = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x0 (most recent call first):\n"
        '  File "/usr/lib/python3/ctypes.py", line 5 in string_at\n'
        '  File "/code/lib/net.py", line 9 in run\n'
        '  File "/code/train.py", line 3 in <module>\n'
        '  File "/code-of-others/x.py", line 3 in <module>\n'
    )

    _, failure = judge(Seen(signal.SIGSEGV, crash=crash, code="/code"), None)

    assert failure.frames == (Frame("train.py", 3, "<module>"), Frame("lib/net.py", 9, "run"))


@pytest.mark.parametrize(("status", "code"), [(exited(3), 3), (signal.SIGKILL, 137)])
def test_exit_codes_are_told_as_a_shell_does(status, code):
    assert exit_code(status) == code


@pytest.mark.parametrize(
    ("tail", "lines"),
    [
        (b"", []),
        (b"a\nb\n\n\n", ["a", "b"]),
        (b" 10%\r 50%\r100%\n", ["100%"]),
        (b"windows\r\n", ["windows"]),
        (b"\x1b[31mred\x1b[0m \x1b]0;title\x07x\n", ["red x"]),
        ("损失 0.1\n".encode(), ["损失 0.1"]),
        ("损失".encode("gbk") + b"\0 1\n", ["\ufffd\ufffd\u02a7 1"]),
        (b"x" * 5000, ["x" * 2000]),
    ],
)
def test_last_lines_are_as_people_saw_them(tail, lines):
    assert last_lines(tail) == lines


def test_fifty_lines_are_kept():
    assert last_lines(b"\n".join(b"%d" % n for n in range(200))) == [
        str(n) for n in range(150, 200)
    ]


def test_a_full_disk_is_found_behind_other_errors():
    error = ValueError("not stored")
    error.__cause__ = OSError(28, "No space left on device", "/home/x")

    assert full_disk(error) == "/home/x"
    assert full_disk(OSError(13, "no", "/x")) == ""
