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


def test_ls_without_jobs_explains_how_to_begin(danlu):
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


def test_ls_json_is_the_response_of_the_server(danlu, submitted):
    submitted("a")

    page = danlu("ls", "--json").json

    assert [job["name"] for job in page["jobs"]] == ["a"]
    assert page["next"] is None


def test_columns_line_up_under_chinese_headings(danlu, submitted):
    submitted("mnist")

    head, row = danlu("ls", "--lang", "zh").out.splitlines()

    assert head.startswith("名称   状态    服务")
    assert row.startswith("mnist  排队中  modelarts")


@pytest.mark.parametrize(
    ("fields", "state", "shown"),
    [
        ({"max_steps": 9}, "queued, shortened", "shortened   training ends after 9 steps"),
        ({"max_steps": 3, "rehearse": True}, "queued, rehearsal", "a rehearsal of 3 steps; its"),
        ({"max_steps": 9, "lang": "zh"}, "排队中（缩短）", "训练到 9 步就结束"),
        ({"max_steps": 3, "rehearse": True, "lang": "zh"}, "排队中（试跑）", "试跑 3 步，输出"),
    ],
)
def test_shortened_job_is_marked_in_lists_and_alone(danlu, client, fields, state, shown):
    lang = ("--lang", fields.pop("lang", "en"))
    client.submit({"name": "mnist", **fields})

    assert state in danlu("ls", *lang).out
    assert shown in danlu("show", "mnist", *lang).out
    assert danlu("ls", "--json").json["jobs"][0]["shortened"]["steps"] == fields["max_steps"]


def test_show_prints_all_fields(danlu, client, submitted, broken_at):
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


def test_ls_without_jobs_prints_a_message(danlu):
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


def test_following_log_of_failed_job_is_no_failure(danlu, client, submitted):
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


def test_rm_removes_ended_job_by_its_full_name(danlu, client, submitted):
    submitted("mnist")
    client.finish("mnist")

    assert danlu("rm", "mnist").code == 0
    assert danlu("ls", "-q").out == ""


def test_rm_of_half_name_asks_for_whole(danlu, client, submitted):
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
def test_wait_reports_the_end_by_its_exit_code(danlu, client, submitted, state, reason, code):
    client.ends = (state, reason)
    submitted("mnist")

    assert danlu("wait", "mnist").code == code


def test_wait_timeout_has_its_own_exit_code(danlu, submitted):
    submitted("mnist")

    result = danlu("wait", "mnist", "--timeout", "0")

    assert result.code == 6
    assert "mnist has not ended: queued." in result.err


def test_rerun_changes_parameters(danlu, client, submitted):
    submitted("mnist")

    result = danlu("rerun", "mnist", "-p", "lr=", "-p", "--steps=3")

    assert result.code == 0
    assert client.requests[-1]["parameters"] == {"lr": "", "steps": "3"}
    assert "name" not in client.requests[-1]


def test_rerun_changes_places_and_the_name(danlu, client, submitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    submitted("mnist")

    danlu("rerun", "mnist", "--name", "second", "--train-url", "runs/{name}", "--data-url",
          "obs://bucket/data", "--input", "a=obs://bucket/a", "--output", "b=out")  # fmt: skip

    assert client.reruns == [
        {
            "same_output": False,
            "changes": {
                "name": "second",
                "train_url": f"file://{tmp_path}/runs/{{name}}",
                "data_url": "obs://bucket/data",
                "inputs": {"a": "obs://bucket/a"},
                "outputs": {"b": f"file://{tmp_path}/out"},
            },
        }
    ]


def test_rerun_continues_in_the_same_place(danlu, client, submitted):
    submitted("mnist")

    danlu("rerun", "mnist", "--same-output")
    both = danlu("rerun", "mnist", "--same-output", "--train-url", "obs://bucket/x")

    assert client.reruns == [{"same_output": True, "changes": {}}]
    assert "--same-output and another output were given" in both.err


@pytest.mark.parametrize("path", ["code", "code/train.py"])
def test_rerun_reports_when_the_code_has_changed(danlu, client, script, path):
    danlu("run", path, "--name", "mnist")
    assert "has changed" not in danlu("rerun", "mnist").err

    (script / "train.py").write_text("print('new')")
    reported = danlu("rerun", "mnist").err
    fresh = danlu("rerun", "mnist", "--fresh-code").err

    assert "has changed since mnist ran" in reported
    assert "--fresh-code packs it anew" in reported
    assert "has changed" not in fresh
    codes = [request["code"] for request in client.requests]
    assert codes[0] == codes[1] == codes[2] != codes[3]


def test_job_whose_code_is_gone_still_runs_again(danlu, client, script):
    danlu("run", "code", "--name", "mnist")
    (script / "train.py").unlink()
    script.rmdir()

    assert danlu("rerun", "mnist").code == 0
    refused = danlu("rerun", "mnist", "--fresh-code")

    assert f"came from {script}, which is not on this machine" in refused.err


def test_code_in_a_store_is_not_packed_anew(danlu, client):
    client.submit({"name": "mnist", "code": "obs://bucket/code", "boot_file": "train.py"})

    refused = danlu("rerun", "mnist", "--fresh-code")

    assert "is read from obs://bucket/code by every job" in refused.err


def test_restore_reports_files_and_how_to_undo(danlu, client, submitted):
    submitted("mnist")
    client.replaced = ["checkpoint", "model.ckpt-3.index"]

    done = danlu("restore", "mnist")
    dry = danlu("restore", "mnist", "--dry-run")

    assert done.out.split() == ["checkpoint", "model.ckpt-3.index"]
    assert "obs://bucket/out: restored: 2 (3 B), already there: 0" in done.err
    assert "danlu restore obs://bucket/out restore-1" in done.err
    assert "would be restored: 2" in dry.err
    assert "Undo" not in dry.err
    assert danlu("restore", "mnist", "--json").json["outputs"][0]["kept_as"] == "restore-1"


def test_restore_reports_when_a_job_replaced_nothing(danlu, submitted):
    submitted("mnist")

    result = danlu("restore", "mnist")

    assert result.code == 0
    assert "mnist replaced and removed nothing of earlier jobs" in result.err
    assert danlu("restore", "mnist", "an-id").code == 2
