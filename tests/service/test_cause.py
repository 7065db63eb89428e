from dataclasses import replace

import pytest

from danlu.job.state import JobState, Reason
from danlu.job.status import Failure, Frame, Unstored
from danlu.messages import catalogue
from danlu.service.diagnosis.cause import explain

BY_USER = Failure(
    exception="ValueError",
    message="bad learning rate",
    frames=(Frame("train.py", 3, "<module>"), Frame("model/net.py", 12, "build")),
    exit_code=1,
)


OWN = """\
Traceback (most recent call last):
  File "/code/train.py", line 3, in go
  File "/venv/site-packages/moxing/file.py", line 7, in copy
KeyError: 'x'
"""


@pytest.fixture
def ended(platform, request_of):
    def end(reason, failure=None):
        job = platform.service.submit({**request_of, "name": "mnist", "retries": 0})
        platform.tick()
        platform.executor.end(job.id, 1, "worker-0", reason=reason, failure=failure)
        platform.tick()
        return platform.service.get(job.id)

    return end


def test_exception_names_file_and_line_of_user(ended):
    cause = explain(ended(Reason.SCRIPT_FAILED, BY_USER))

    assert cause.en == "ValueError: bad learning rate (model/net.py:12, in build)"
    assert "model/net.py:12" in cause.zh
    assert cause.next == "danlu logs mnist --tail 50"


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (Failure(exit_code=3), "exit_code"),
        (Failure(exit_code=2), "exit_code"),
        (Failure(exception="SystemExit", message="2", exit_code=2), "exit_code"),
        (Failure(exit_code=2, last_lines=("train.py: error: no", "")), "exit_usage"),
        (Failure(exit_code=3, last_lines=("train.py: error: no",)), "exit_code"),
        (
            Failure(
                exception="SystemExit",
                message="no data",
                exit_code=1,
                frames=(Frame("train.py", 3, "<module>"),),
            ),
            "exit_message",
        ),
        (
            Failure(exception="SystemExit", message="model.py lacks eval_input_fn.", exit_code=1),
            "told",
        ),
        (Failure(exit_code=127), "exit_not_found"),
        (Failure(exit_code=139, signal="SIGSEGV"), "crashed"),
        (Failure(exception="ImportError", message="no"), "exception_elsewhere"),
        (Failure("KeyError", "'x'", traceback=OWN), "exception_in_danlu_alone"),
        (Failure("KeyError", "'x'", traceback="forged"), "exception_elsewhere"),
        (None, "script_failed"),
    ],
)
def test_what_a_script_left_behind_decides_the_words(ended, failure, code):
    assert explain(ended(Reason.SCRIPT_FAILED, failure)).code == code


def test_internal_error_names_both_lines(ended):
    failure = Failure("KeyError", "'x'", frames=(Frame("train.py", 3, "go"),), traceback=OWN)

    job = ended(Reason.SCRIPT_FAILED, failure)
    cause = explain(job)

    assert cause.code == "exception_in_danlu"
    assert cause.en.startswith(
        "KeyError: 'x' (raised in Danlu's own code, moxing/file.py:7, called from train.py:3)."
    )
    assert "丹炉自己的代码 moxing/file.py:7，由 train.py:3 调用" in cause.zh
    assert cause.next == f"danlu show {job.name}"


@pytest.mark.parametrize("reason", [r for r in Reason if r is not Reason.DONE])
def test_every_reason_has_its_sentence_in_both_languages(ended, reason):
    cause = explain(ended(reason, Failure(detail="x", disk_full="/cache", exit_code=1)))

    assert cause.en
    assert cause.zh
    assert cause.en != cause.zh
    assert cause.next.startswith("danlu ")


@pytest.mark.parametrize(
    ("failure", "en"),
    [
        (
            Failure("BlockingIOError", "[Errno 11] Resource temporarily unavailable", exit_code=1),
            "worker-0 met the limit of 64 processes and threads, and ended with exit code 1 after"
            " that: BlockingIOError: [Errno 11] Resource temporarily unavailable",
        ),
        (
            Failure(exit_code=134),
            "worker-0 met the limit of 64 processes and threads, and ended with exit code 134 after"
            " that",
        ),
    ],
)
def test_cause_names_the_process_limit(ended, failure, en):
    cause = explain(ended(Reason.TOO_MANY_PROCESSES, replace(failure, process_limit=64)))

    assert cause.en == en
    assert cause.zh.startswith("worker-0 达到了 64 个进程和线程的上限")
    assert cause.next.startswith("danlu logs")


def test_success_reports_where_the_outputs_are(platform, request_of):
    job = platform.service.submit({**request_of, "train_url": "obs://bucket/out"})
    platform.tick()
    platform.executor.end(job.id, 1, "worker-0")
    platform.tick()

    assert explain(platform.service.get(job.id)).next == "danlu store ls -r obs://bucket/out"


def test_a_living_job_has_no_cause(platform, request_of):
    assert explain(platform.service.submit(request_of)) is None


def test_a_message_of_many_lines_becomes_one(ended):
    cause = explain(ended(Reason.SCRIPT_FAILED, Failure(exception="E", message="a\n b\n" * 500)))

    assert "\n" not in cause.en
    assert len(cause.en) < 400


def test_job_stopped_by_its_user_is_no_failure(platform, request_of):
    job = platform.service.submit(request_of)
    platform.tick()
    platform.service.stop(job.id)
    platform.tick()

    assert platform.service.get(job.id).state is JobState.STOPPED
    assert explain(platform.service.get(job.id)).code == "stopped_by_user"


def test_the_line_of_argparse_is_the_cause(ended):
    line = "train.py: error: unrecognized arguments: --x=1"
    usage = ("step 1", "usage: train.py [-h]", line)
    failure = Failure(exception="SystemExit", message="2", exit_code=2, last_lines=usage)

    cause = explain(ended(Reason.SCRIPT_FAILED, failure))

    assert cause.en == f"{line} (exit code 2)"
    assert line in cause.zh


def test_failed_user_command_refers_to_log(ended):
    failure = Failure(detail="The prepare command ended with exit code 3.", exit_code=3)

    assert explain(ended(Reason.PREPARE_FAILED, failure)).next == "danlu logs mnist --tail 50"


def test_a_full_disk_without_a_path_names_none(ended):
    failure = Failure(disk_full="No space left on device", exit_code=1)

    assert explain(ended(Reason.DISK_FULL, failure)).en.startswith("The disk is full: worker-0")


@pytest.mark.parametrize("reason", [Reason.STOPPED_BY_USER, Reason.STORE_UNAVAILABLE])
def test_unstored_outputs_are_named_with_any_cause(ended, reason):
    left = Unstored("worker-0", "train_url", "obs://bucket/out", "/home/work/out")
    job = replace(ended(reason, Failure(detail="no answer")), unstored=(left,))

    cause = explain(job)

    assert cause.en.endswith(" The only copy of its outputs is in /home/work/out.")
    assert cause.zh.endswith("输出的唯一副本在 /home/work/out。")
    assert cause.next == f"danlu store retry {job.name}"
    elsewhere = explain(replace(job, unstored=(replace(left, host="node-7"),)))
    assert "/home/work/out on node-7" in elsewhere.en
    assert "store retry" not in elsewhere.next


def test_no_sentence_is_left_over():
    used = {r.value for r in Reason if r is not Reason.DONE} | {
        "done",
        "exception",
        "exception_elsewhere",
        "exception_in_danlu",
        "exception_in_danlu_alone",
        "crashed",
        "disk_full_somewhere",
        "exit_code",
        "exit_message",
        "exit_usage",
        "exit_not_found",
        "exit_not_executable",
        "syntax",
        "told",
        *("only_copy", "place_elsewhere", "stored_later", "disk_free", "disk_files"),
    }

    kept = {key.removeprefix("cause.") for key in catalogue("en") if key.startswith("cause.")}
    assert kept == used
