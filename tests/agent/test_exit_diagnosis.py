"""Why a script ended: a table."""

import errno
import os
import signal

import pytest

from danlu.agent.control import StopReason
from danlu.agent.outcome import ExitEvidence, diagnose, exit_code, failed, full_disk, last_lines
from danlu.errors import PlatformError, Refused
from danlu.job.state import Reason
from danlu.job.status import Failure, Frame


def exited(code: int) -> int:
    return code << 8


MEMORY = Failure(exception="MemoryError", out_of_memory=True)
DISK = Failure(exception="OSError", disk_full="/cache/x")


@pytest.mark.parametrize(
    ("seen", "stop_reason", "reason"),
    [
        (ExitEvidence(exited(0)), None, Reason.DONE),
        (ExitEvidence(exited(0)), StopReason.USER, Reason.STOPPED_BY_USER),
        (ExitEvidence(exited(1)), StopReason.USER, Reason.STOPPED_BY_USER),
        (ExitEvidence(signal.SIGTERM), StopReason.JOB, Reason.ENDED_WITH_JOB),
        (ExitEvidence(signal.SIGKILL), StopReason.TIMED_OUT, Reason.TIMED_OUT),
        (ExitEvidence(signal.SIGTERM), StopReason.MACHINE, Reason.KILLED),
        (ExitEvidence(signal.SIGKILL), StopReason.CUT_OFF, Reason.AGENT_LOST),
        (ExitEvidence(exited(1)), None, Reason.SCRIPT_FAILED),
        (ExitEvidence(exited(2)), None, Reason.SCRIPT_FAILED),
        (ExitEvidence(exited(1), port_taken=True), None, Reason.PORT_TAKEN),
        (ExitEvidence(exited(0), port_taken=True), None, Reason.DONE),
        (ExitEvidence(signal.SIGKILL, port_taken=True), None, Reason.KILLED),
        (ExitEvidence(exited(1), port_taken=True), StopReason.JOB, Reason.ENDED_WITH_JOB),
        (ExitEvidence(exited(1), process_limit=64), None, Reason.TOO_MANY_PROCESSES),
        (ExitEvidence(signal.SIGABRT, process_limit=64), None, Reason.TOO_MANY_PROCESSES),
        (
            ExitEvidence(exited(1), port_taken=True, process_limit=64),
            None,
            Reason.TOO_MANY_PROCESSES,
        ),
        (ExitEvidence(exited(0), process_limit=64), None, Reason.DONE),
        (ExitEvidence(signal.SIGKILL, process_limit=64), None, Reason.KILLED),
        (ExitEvidence(exited(1), MEMORY, process_limit=64), None, Reason.OUT_OF_MEMORY),
        (ExitEvidence(exited(1), process_limit=64), StopReason.USER, Reason.STOPPED_BY_USER),
        (ExitEvidence(exited(126)), None, Reason.SCRIPT_FAILED),
        (ExitEvidence(exited(127)), None, Reason.SCRIPT_FAILED),
        (ExitEvidence(signal.SIGSEGV), None, Reason.SCRIPT_FAILED),
        (ExitEvidence(exited(139)), None, Reason.SCRIPT_FAILED),
        (ExitEvidence(exited(130)), None, Reason.KILLED),
        (ExitEvidence(exited(137)), None, Reason.KILLED),
        (ExitEvidence(exited(143)), None, Reason.KILLED),
        (ExitEvidence(signal.SIGINT), None, Reason.KILLED),
        (ExitEvidence(signal.SIGKILL), None, Reason.KILLED),
        (ExitEvidence(signal.SIGTERM), None, Reason.KILLED),
        (ExitEvidence(signal.SIGKILL, memory_kills=1), None, Reason.OUT_OF_MEMORY),
        (ExitEvidence(signal.SIGTERM, memory_kills=1), None, Reason.KILLED),
        (ExitEvidence(exited(1), MEMORY), None, Reason.OUT_OF_MEMORY),
        (ExitEvidence(exited(1), DISK), None, Reason.DISK_FULL),
        (ExitEvidence(exited(1), full_disk="/work"), None, Reason.DISK_FULL),
        (
            ExitEvidence(exited(1), Failure("ValueError"), full_disk="/work"),
            None,
            Reason.SCRIPT_FAILED,
        ),
        (ExitEvidence(exited(0), full_disk="/work"), None, Reason.DONE),
        (
            ExitEvidence(signal.SIGABRT, lines=("what():  std::bad_alloc",)),
            None,
            Reason.OUT_OF_MEMORY,
        ),
        (ExitEvidence(signal.SIGABRT), None, Reason.SCRIPT_FAILED),
    ],
)
def test_reasons(seen, stop_reason, reason):
    assert diagnose(seen, stop_reason)[0] is reason


def test_reported_failure_and_exit_evidence_are_merged():
    failure_report = Failure(exception="ValueError", message="no", frames=(Frame("a.py", 1),))

    _, failure = diagnose(ExitEvidence(exited(1), failure_report, lines=("a", "b")), None)

    assert (failure.exception, failure.where.file) == ("ValueError", "a.py")
    assert (failure.exit_code, failure.signal, failure.last_lines) == (1, "", ("a", "b"))


def test_a_good_end_has_no_failure():
    assert diagnose(ExitEvidence(exited(0), Failure(exception="SystemExit")), None) == (
        Reason.DONE,
        None,
    )


def test_a_crash_is_read_from_outside_in():
    crash = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x0 (most recent call first):\n"
        '  File "/usr/lib/python3/ctypes.py", line 5 in string_at\n'
        '  File "/code/lib/net.py", line 9 in run\n'
        '  File "/code/train.py", line 3 in <module>\n'
        '  File "/code-of-others/x.py", line 3 in <module>\n'
    )

    _, failure = diagnose(ExitEvidence(signal.SIGSEGV, crash=crash, code="/code"), None)

    assert failure.frames == (Frame("train.py", 3, "<module>"), Frame("lib/net.py", 9, "run"))


@pytest.mark.parametrize(("status", "code"), [(exited(3), 3), (signal.SIGKILL, 137)])
def test_exit_codes_are_reported_as_a_shell_does(status, code):
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


def test_internal_error_is_reported_with_traceback():
    try:
        raise PlatformError("The installer ended with status 256.")
    except PlatformError as error:
        ours = failed(Reason.PREPARE_FAILED, error)
    theirs = failed(Reason.PREPARE_FAILED, Refused("Packages cannot be installed."))

    assert ours.reason is Reason.PLATFORM_FAILED
    assert ours.failure.detail == "The installer ended with status 256."
    assert "Traceback (most recent call last)" in ours.failure.traceback
    assert (theirs.reason, theirs.failure.traceback) == (Reason.PREPARE_FAILED, "")


def test_disk_too_small_for_upload_is_recorded(tmp_path):
    path = tmp_path / "out" / "model.h5"  # not there any more

    disk = failed(Reason.STORE_UNAVAILABLE, OSError(errno.ENOSPC, "full", str(path))).failure.disk

    assert os.path.ismount(disk.mount)
    assert os.stat(disk.mount).st_dev == os.stat(tmp_path).st_dev
    assert disk.free > 0
