import pytest

from danlu.job.state import JobState, Reason


@pytest.fixture
def submitted(danlu, script):
    def submit(*names):
        for name in names:
            danlu("run", "code", "--name", name, "--detach", "-p", "lr=0.1")

    return submit


def test_ls_shows_the_newest_first(danlu, client, submitted):
    submitted("first", "second")
    client.finish("first")

    rows = [line.split() for line in danlu("ls").out.splitlines()]

    assert rows[0][:3] == ["NAME", "STATE", "SERVICE"]
    assert rows[1][:3] == ["second", "queued", "modelarts"]
    assert rows[2][:3] == ["first", "succeeded", "modelarts"]


def test_ls_says_how_to_begin_where_there_is_nothing(danlu):
    result = danlu("ls")

    assert result.out == ""
    assert "danlu run train.py" in result.err


def test_ls_filters_and_pages(danlu, client, submitted):
    submitted("a1", "b1", "a2")

    assert danlu("ls", "-q", "--name", "a").out == "a2\na1\n"
    assert danlu("ls", "-q", "--state", "failed").out == ""
    page = danlu("ls", "-q", "--limit", "2")
    assert page.out == "a2\nb1\n"
    before = client.job("b1")["id"]
    assert f"danlu ls --before {before}" in page.err
    assert danlu("ls", "-q", "--before", before).out == "a1\n"


def test_ls_as_json_is_what_the_server_said(danlu, submitted):
    submitted("a")

    page = danlu("ls", "--json").json

    assert [job["name"] for job in page["jobs"]] == ["a"]
    assert page["next"] is None


def test_columns_line_up_under_chinese_headings(danlu, submitted):
    submitted("mnist")

    head, row = danlu("ls", "--lang", "zh").out.splitlines()

    assert head.startswith("名称   状态    服务")
    assert row.startswith("mnist  排队中  modelarts")


def test_show_tells_everything(danlu, client, submitted, broken_at):
    client.ends = (JobState.FAILED, Reason.SCRIPT_FAILED)
    client.failure = broken_at("train.py", 7)
    client.cause = {"code": "x", "en": "It broke.", "zh": "坏了。", "next": "danlu logs mnist"}
    submitted("mnist")
    client.finish("mnist")

    text = danlu("show", "mnist").out

    for expected in (
        "state      failed",
        "cause      It broke.",
        "next       danlu logs mnist",
        "  lr  0.1",
        "fetch code 1.0 s · run 1.5 s · upload 0.5 s",
        "the script failed (exit 1)",
        "  train.py:7  main",
        "ValueError: no",
    ):
        assert expected in text


def test_without_a_name_the_latest_job_is_meant(danlu, submitted):
    submitted("old", "new")

    assert danlu("show", "--json").json["name"] == "new"


def test_without_any_job_that_is_said(danlu):
    result = danlu("show")

    assert result.code == 2
    assert "There is no job yet." in result.err


def test_a_misspelt_name_is_offered_the_near_one(danlu, submitted):
    submitted("mnist")

    result = danlu("show", "mnits")

    assert result.code == 3
    assert result.err == "error: There is no job named 'mnits'.\nhint: Did you mean 'mnist'?\n"


def test_errors_are_json_too(danlu):
    result = danlu("show", "nothing", "--json")

    assert result.code == 3
    assert result.err == ""
    assert result.json["error"]["code"] == "not_found"


def test_logs_reads_page_after_page(danlu, client, line, submitted):
    client.log = [line("worker-0", f"step {number}") for number in range(5)]
    submitted("mnist")

    assert danlu("logs").out == "step 0\nstep 1\nstep 2\nstep 3\nstep 4\n"
    assert danlu("logs", "--tail", "2").out == "step 3\nstep 4\n"
    assert danlu("logs", "--json").ndjson[0] == {"task": "worker-0", "text": "step 0"}


def test_raw_logs_are_the_bytes_of_one_task(danlu, submitted):
    submitted("mnist")

    assert danlu("logs", "--raw").out == "step 1\nstep 2\n"


def test_raw_logs_of_several_tasks_need_a_choice(danlu, script):
    danlu("run", "code", "--nodes", "2", "--detach")

    result = danlu("logs", "--raw")

    assert result.code == 2
    assert "--task: worker-0, worker-1" in result.err


def test_following_the_log_of_a_failed_job_is_no_failure(danlu, client, submitted):
    client.ends = (JobState.FAILED, Reason.SCRIPT_FAILED)
    submitted("mnist")

    result = danlu("logs", "-f", "mnist")

    assert result.code == 0
    assert "mnist failed" in result.err


def test_stop_asks_and_can_wait(danlu, submitted):
    submitted("mnist")

    assert "mnist is stopping" in danlu("stop", "mnist", "--grace", "3").err
    assert "mnist: stopped" in danlu("stop", "mnist", "--wait").err


def test_stop_needs_a_name(danlu, submitted):
    submitted("mnist")

    assert danlu("stop").code == 2


def test_rm_removes_an_ended_job_by_its_full_name(danlu, client, submitted):
    submitted("mnist")
    client.finish("mnist")

    assert danlu("rm", "mnist").code == 0
    assert danlu("ls", "-q").out == ""


def test_rm_of_half_a_name_asks_for_the_whole(danlu, client, submitted):
    submitted("mnist")
    client.finish("mnist")

    result = danlu("rm", "mn")

    assert result.code == 2
    assert "danlu rm mnist" in result.err
    assert danlu("rm", "mn", "--yes").code == 0


def test_rm_of_a_living_job_is_refused(danlu, submitted):
    submitted("mnist")

    assert danlu("rm", "mnist").code == 1


@pytest.mark.parametrize(
    ("state", "reason", "code"),
    [
        (JobState.SUCCEEDED, Reason.DONE, 0),
        (JobState.FAILED, Reason.OUT_OF_MEMORY, 5),
        (JobState.STOPPED, Reason.STOPPED_BY_USER, 5),
    ],
)
def test_wait_tells_the_end_by_its_exit_code(danlu, client, submitted, state, reason, code):
    client.ends = (state, reason)
    submitted("mnist")

    assert danlu("wait", "mnist").code == code


def test_a_wait_that_is_too_short_has_an_exit_code_of_its_own(danlu, submitted):
    submitted("mnist")

    result = danlu("wait", "mnist", "--timeout", "0")

    assert result.code == 6
    assert "mnist has not ended: queued." in result.err


def test_rerun_changes_parameters(danlu, client, submitted):
    submitted("mnist")

    result = danlu("rerun", "mnist", "-p", "lr=", "-p", "steps=3")

    assert result.code == 0
    assert client.requests[-1]["parameters"] == {"lr": "", "steps": "3"}
    assert "name" not in client.requests[-1]
