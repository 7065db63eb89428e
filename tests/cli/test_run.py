import re

import pytest

from danlu.job.state import JobState, Reason
from danlu.job.status import UNLIMITED
from danlu.messages import get_message_in


def test_log_goes_to_stdout_and_rest_to_stderr(danlu, script):
    result = danlu("run", "code/train.py")

    assert result.code == 0
    assert result.out == "step 1\nstep 2\n"
    assert "dialect: modelarts (train.py shows no sign of another service)" in result.err
    assert "packed: train.py" in result.err
    assert "succeeded in" in result.err


def test_a_directory_is_sent_with_its_only_script(danlu, client, script):
    danlu("run", "code/")

    assert client.requests[0]["boot_file"] == "train.py"
    assert client.requests[0]["code"].startswith("danlu://code/")
    assert client.requests[0]["code_origin"] == script.as_uri()


def test_local_paths_become_absolute_uris(danlu, client, script, tmp_path):
    danlu("run", "code", "--data-url", "data dir", "--train-url", "obs://bucket//out",
          "--input", "extra=../x", "--output", "logs=s3://bucket/logs")  # fmt: skip

    request = client.requests[0]
    assert request["data_url"] == f"file://{tmp_path}/data%20dir"
    assert request["train_url"] == "obs://bucket//out"
    assert request["inputs"] == {"extra": f"file://{tmp_path.parent}/x"}
    assert request["outputs"] == {"logs": "s3://bucket/logs"}


def test_placeholders_of_a_local_output_reach_the_server(danlu, client, script, tmp_path):
    danlu("run", "code", "--data-url", "{name}", "--train-url", "runs/{name}/x y",
          "--output", "logs=./{id}")  # fmt: skip

    request = client.requests[0]
    assert request["data_url"] == f"file://{tmp_path}/%7Bname%7D"  # inputs have none
    assert request["train_url"] == f"file://{tmp_path}/runs/{{name}}/x%20y"
    assert request["outputs"] == {"logs": f"file://{tmp_path}/{{id}}"}


@pytest.mark.parametrize("output", [".", "code", "code/", "./code/../.."])
def test_an_output_around_the_code_is_refused(danlu, client, script, output):
    result = danlu("run", "code", "--train-url", output)

    assert result.code == 2
    assert "contains the code" in result.err
    assert "could replace the code" in result.err
    assert not client.requests
    assert danlu("run", "code", "--train-url", output, "--rehearse").code == 0
    danlu("run", "code", "--name", "first")
    assert danlu("rerun", "first", "--train-url", output).code == 2


def test_an_output_in_the_code_is_not_packed(danlu, client, script):
    (script / "out").mkdir()

    result = danlu("run", "code", "--train-url", "code/out")

    assert result.code == 0
    assert "left out of the code, because they are inputs or outputs of the job: out" in result.err


def test_what_was_not_given_is_left_to_server(danlu, client, script):
    danlu("run", "code")

    assert set(client.requests[0]) == {"dialect", "code", "code_origin", "code_path", "boot_file"}


def test_every_option_reaches_the_request(danlu, client, script):
    danlu("run", "code", "--nodes", "2", "--gpus", "0", "--cpus", "1.5", "--memory", "2G",
          "--flavor", "cpu.basic", "--name", "mnist", "--retries", "0", "--priority", "-1",
          "--timeout", "60", "--env", "A=b=c", "-e", "TF_CPP_MIN_LOG_LEVEL=0",
          "--framework-version", "1.14", "--max-steps", "7",
          "--client-token", "again", "--detach")  # fmt: skip

    request = client.requests[0]
    assert request["nodes"] == 2
    assert request["gpus"] == 0
    assert request["cpus"] == 1.5
    assert request["memory"] == "2G"
    assert request["flavor"] == "cpu.basic"
    assert request["name"] == "mnist"
    assert request["retries"] == 0
    assert request["priority"] == -1
    assert request["timeout"] == 60
    assert request["env"] == {"A": "b=c", "TF_CPP_MIN_LOG_LEVEL": "0"}
    assert request["framework_version"] == "1.14"
    assert request["max_steps"] == 7
    assert client.tokens == ["again"]


def test_parameter_may_be_empty_or_contain_equals_sign(danlu, client, script):
    danlu("run", "code", "-p", "empty=", "-p", "expression=a=b", "-p", "中文=值")

    assert client.requests[0]["parameters"] == {"empty": "", "expression": "a=b", "中文": "值"}


def test_parameter_may_be_written_with_its_dashes(danlu, client, script):
    danlu("run", "code", "-p", "--max_steps=3", "-p", "lr=--0.1")

    assert client.requests[0]["parameters"] == {"max_steps": "3", "lr": "--0.1"}


def test_parameter_with_and_without_dashes_is_given_twice(danlu, client, script):
    result = danlu("run", "code", "-p", "--max_steps=3", "-p", "max_steps=4")

    assert result.code == 2
    assert "'max_steps' is given twice" in result.err


def test_wrong_parameters_are_reported_at_once(danlu, client, script):
    result = danlu("run", "code", "-p", "max_steps", "-p", "=3", "-p", "a=1", "-p", "a=2")

    assert result.code == 2
    assert "'max_steps' has no '='; write NAME=VALUE" in result.err
    assert "'=3' has no name" in result.err
    assert "'a' is given twice" in result.err
    assert client.requests == []


def test_flag_of_script_is_shown_its_place(danlu, script):
    result = danlu("run", "code", "--max_steps=100")

    assert result.code == 2
    assert "-p max_steps=VALUE" in result.err


def test_words_after_the_path_are_refused(danlu, script):
    result = danlu("run", "code", "more")

    assert result.code == 2
    assert "Not understood: more" in result.err


def test_words_after_two_dashes_are_passed_on(danlu, client, script):
    result = danlu("run", "code", "--", "--max_steps", "100")

    assert result.code == 2
    assert "-- ARGS is a field of kdl; this job is one of modelarts" in result.err
    assert "-p NAME=VALUE" in result.err
    assert client.requests == []


def test_a_secret_comes_from_the_environment_only(danlu, client, script, monkeypatch):
    monkeypatch.setenv("API_KEY", "s3cret")

    result = danlu("run", "code", "--secret", "API_KEY")

    assert client.secrets == [{"API_KEY": "s3cret"}]
    assert "s3cret" not in str(client.requests) + result.out + result.err


def test_secret_that_is_not_set_is_error(danlu, client, script):
    result = danlu("run", "code", "--secret", "API_KEY")

    assert result.code == 2
    assert "Not set in this environment: API_KEY." in result.err
    assert client.requests == []


def test_failed_job_ends_with_cause_and_next_command(danlu, client, script):
    client.ends = (JobState.FAILED, Reason.SCRIPT_FAILED)
    client.cause = {"code": "exception", "en": "ValueError at train.py:3: no",
                    "zh": "train.py 第 3 行 ValueError：no", "next": "danlu logs a"}  # fmt: skip

    result = danlu("run", "code")
    chinese = danlu("run", "code", "--lang", "zh")

    assert result.code == chinese.code == 5
    assert result.out == "step 1\nstep 2\n"
    assert "failed after" in result.err
    assert "ValueError at train.py:3: no" in result.err
    assert "Next: danlu logs a" in result.err
    assert "失败" in chinese.err
    assert "train.py 第 3 行 ValueError：no" in chinese.err
    assert "下一步：danlu logs a" in chinese.err


def test_ctrl_c_detaches_and_reports_how_to_attach(danlu, client, script):
    client.interrupt_after = 1

    result = danlu("run", "code", "--name", "mnist")

    assert result.code == 130
    assert result.out == "step 1\n"
    assert "danlu logs -f mnist" in result.err
    assert client.job("mnist")["state"] == "queued"


def test_task_names_are_shown_only_for_several(danlu, client, line, script):
    client.log = [line("worker-0", "a"), line("worker-1", "b")]

    result = danlu("run", "code", "--nodes", "2")

    assert result.out == "[worker-0] a\n[worker-1] b\n"


def test_notes_of_the_platform_are_reported(danlu, client, script):
    client.notes = ("gpus: this machine has no GPU: the job runs on CPU.",)

    assert "the job runs on CPU" in danlu("run", "code").err


def test_detached_name_is_all_that_goes_to_stdout(danlu, script):
    result = danlu("run", "code", "--name", "mnist", "--detach")

    assert result.out == "mnist\n"
    assert "danlu logs -f mnist" in result.err


def test_dry_run_shows_exact_command_and_starts_nothing(danlu, client, script):
    result = danlu("run", "code", "-p", "text=two words", "--train-url", "obs://b/o", "--dry-run")

    assert result.code == 0
    assert "python /code/train.py '--text=two words'" in result.out
    assert "MA_HOME=/home/ma-user" in result.out
    assert "/out/train_url  →  obs://b/o" in result.out
    assert client.jobs()["jobs"] == []


def test_json_is_a_line_for_each_event(danlu, script):
    first, *lines, last = danlu("run", "code", "--json").ndjson

    assert first["submitted"]["state"] == "queued"
    assert lines == [{"task": "worker-0", "text": "step 1"}, {"task": "worker-0", "text": "step 2"}]
    assert last["job"]["state"] == "succeeded"


def test_json_reports_failure_by_exit_code_only(danlu, client, script):
    client.ends = (JobState.FAILED, Reason.SCRIPT_FAILED)

    result = danlu("run", "code", "--json")

    assert result.code == 5
    assert result.err == ""
    assert result.ndjson[-1]["job"]["state"] == "failed"


def test_detected_service_runs_the_script(danlu, client, script):
    (script / "train.py").write_text("import moxing.tensorflow as mox\nmox.run(input_fn)")

    result = danlu("run", "code")

    assert result.code == 0
    assert "dialect: dls (train.py has mox.run)" in result.err
    assert client.requests[0]["dialect"] == "dls"


def test_a_flag_decides_the_dialect_before_any_evidence(danlu, client, script):
    (script / "train.py").write_text("mox.run(input_fn)")

    result = danlu("run", "code", "--dialect", "modelarts")

    assert result.code == 0
    assert client.requests[0]["dialect"] == "modelarts"


def test_rehearsal_is_three_steps_and_is_called_one(danlu, client, script):
    result = danlu("run", "code", "--rehearse")

    assert client.requests[0]["max_steps"] == 3
    assert client.requests[0]["rehearse"] is True
    assert "A rehearsal: its outputs are removed with the job." in result.err
    assert "ends after" not in result.err  # the server knows whether the script has steps
    assert re.search(r"train-\w+ succeeded in .* \(a rehearsal of 3 steps; its outputs", result.err)


def test_job_of_fewer_steps_ends_as_shortened(danlu, client, script):
    result = danlu("run", "code", "--max-steps", "1000")

    assert "rehearse" not in client.requests[0]
    assert "(shortened: training ends after 1,000 steps)" in result.err


@pytest.mark.parametrize("why", UNLIMITED)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_limit_without_effect_is_in_the_summary(danlu, client, script, lang, why):
    client.steps = {"step": 0, "total": None, "rate": 0.0, "at": 0.0, "unlimited": why}

    result = danlu("run", "code", "--rehearse", "--lang", lang)

    text = {
        "en": "the limit of 3 steps could not be applied to this training: ",
        "zh": "3 步的限制对这段训练未能生效：",
    }[lang]
    assert text + get_message_in(lang, f"unlimited.{why}") in result.err
    assert "rehearsal of 3 steps" not in result.err


def test_shortened_job_that_fails_is_called_so_too(danlu, client, script):
    client.ends = (JobState.FAILED, Reason.SCRIPT_FAILED)

    result = danlu("run", "code", "--rehearse", "--lang", "zh")

    assert "（试跑 3 步，输出随作业一起删除）" in result.err


def test_a_rehearsal_may_have_more_steps(danlu, client, script):
    danlu("run", "code", "--rehearse", "--max-steps", "10", "--json")

    assert client.requests[0]["max_steps"] == 10
