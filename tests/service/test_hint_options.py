"""Hints name only options that ``danlu run`` accepts for the service of the job."""

import re
from dataclasses import replace

import pytest

from danlu import dialects
from danlu.cli.commands.run import run_command as run
from danlu.cli.request import choose
from danlu.dialects.options import input_option, output_option
from danlu.errors import Refused
from danlu.job.job import Change, Job
from danlu.job.plan import Place, Task
from danlu.job.state import JobState, Reason
from danlu.job.status import Failure, Frame, Outcome, TaskStatus
from danlu.messages import catalogue
from danlu.service.diagnosis.cause import explain

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*(?![\w-])")
FIELDS = {name: param.name for param in run.params for name in param.opts}
REQUESTS = {
    "dls": {"boot_file": "train.py", "data_url": "obs://in/data", "urls": "all"},
    "kdl": {"module": "trainer.task"},
    "modelarts": {"boot_file": "train.py", "data_url": "obs://in/data", "urls": "all"},
    "modelmaker": {"boot_file": "train.py", "data": "obs://in/data"},
    "ti": {"entry_point": "train.py", "channels": {"training": "cos://in/data"}},
}
NO_FILE = "[Errno 2] No such file or directory: {!r}"
REQUIRED = "train.py: error: the following arguments are required: data_url, train_url"
FAILURES = {
    "path_scheme": ("FileNotFoundError", NO_FILE.format("s3://dls-test/a.txt")),
    "path_url or path_of_channel": ("FileNotFoundError", NO_FILE.format("obs://in/data/a.txt")),
    "path_url.joined": ("FileNotFoundError", NO_FILE.format("obs://in/data.txt")),
    "path_scheme.store": ("FileNotFoundError", NO_FILE.format("hdfs://a/b")),
    "path_bucket": ("FileNotFoundError", NO_FILE.format("/in/data/a.txt")),
    "path_bucket_unknown": ("FileNotFoundError", NO_FILE.format("/dls-test/a.txt")),
    "path_empty": ("FileNotFoundError", NO_FILE.format("")),
    "data_file": ("DataFileMissing", "mnist.npz is in none of /a, and http://b could not be read"),
    "checkpoint_none": ("ValueError", "Can't load save_path when it is None."),
    "channel_missing": ("SystemExit", "2"),
}


def accepted(dialect, option):
    """Return True if ``danlu run`` accepts an option for a job of this dialect."""
    try:
        choose([FIELDS[option]], dialect, lambda: None)
    except (KeyError, Refused):
        return False
    return True


def hint(dialect, exception, message, **fields):
    """Return the hint of a job of ``dialect`` that ended in this exception."""
    request = {"dialect": dialect, "name": "mnist", "code": "obs://in/code"}
    module = dialects.get(dialect)
    spec = module.read({**request, **REQUESTS[dialect], **fields})
    spec = replace(spec, tensorflow="1.15.5")
    command = module.command(spec, Place("worker", 0, job_id="j", root="/r"))
    plan = (Task("j", "mnist", dialect, 1, Place("worker", 0, job_id="j"), command),)
    lines = (REQUIRED,) if exception == "SystemExit" else ()
    code = 2 if exception == "SystemExit" else 1
    frames = (Frame("train.py", 1, "<module>", "open(args.data_url)"),)
    failure = Failure(exception, message, frames, exit_code=code, last_lines=lines)
    outcome = Outcome(1, Reason.SCRIPT_FAILED, None, 2, failure)
    job = Job("j", "mnist", spec, created=0, plan=plan)
    return explain(
        replace(
            job,
            state=JobState.FAILED,
            reason=Reason.SCRIPT_FAILED,
            attempt=1,
            tasks=(TaskStatus("worker", 0, outcome=outcome),),
            failed_task=plan[0].name,
            history=(Change(JobState.FAILED, 2, 1, Reason.SCRIPT_FAILED),),
        )
    ).card


def test_the_check_knows_what_a_dialect_refuses():
    assert accepted("dls", "--data-url")
    assert accepted("kdl", "--memory")
    assert not accepted("dls", "--input")
    assert not accepted("modelmaker", "--data-url")


@pytest.mark.parametrize("dialect", sorted(dialects.BUILT_IN))
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_dialect_accepts_the_options_in_every_text(lang, dialect):
    named = {
        (key, option)
        for key, text in catalogue(lang).items()
        if key.startswith("card.")
        for option in OPTION.findall(text)
    }

    assert len(named) >= 4
    assert [(key, option) for key, option in named if not accepted(dialect, option)] == []


@pytest.mark.parametrize("dialect", sorted(dialects.BUILT_IN))
@pytest.mark.parametrize("failure", FAILURES)
def test_a_hint_names_options_of_the_jobs_dialect(failure, dialect):
    for fields in ({}, {"data_url": ""} if dialect == "dls" else {}):
        card = hint(dialect, *FAILURES[failure], **fields)
        for text in (card.en, card.zh) if card else ():
            assert [name for name in OPTION.findall(text) if not accepted(dialect, name)] == []


@pytest.mark.parametrize("dialect", sorted(dialects.BUILT_IN))
def test_input_and_output_options_are_of_the_dialect(dialect):
    for written in (input_option(dialect), output_option(dialect)):
        assert dialect == "kdl" if not written else accepted(dialect, written.split()[0])


def test_an_installed_dialect_has_no_known_option():
    assert (input_option("mine"), output_option("mine")) == ("", "")


@pytest.mark.parametrize(
    ("dialect", "named"),
    [
        ("dls", ("`--data-url URI`", "`--train-url URI`")),
        ("modelarts", ("`--input NAME=URI`", "`--output NAME=URI`")),
        ("ti", ("`--channel NAME=URI`", "`--output-path URI`")),
        ("modelmaker", ("`--data URI`", "`--output model=URI`")),
        ("kdl", ("`mox.file.copy`",)),
    ],
)
def test_open_of_a_store_url(dialect, named):
    card = hint(dialect, *FAILURES["path_scheme"])

    assert card.code == "path_scheme"
    assert "`open` and `os` take local paths only: read s3://dls-test/a.txt" in card.en
    assert "with `tf.gfile` or `mox.file`" in card.en
    assert all(word in card.en and word in card.zh for word in named)


@pytest.mark.parametrize(
    ("dialect", "named"),
    [
        ("dls", ("`obs://dls-test/a.txt`", "(`--data-url URI`)")),
        ("ti", ("`cos://dls-test/a.txt`", "(`--channel NAME=URI`)")),
        ("kdl", ("`ks3://dls-test/a.txt`", "with `tf.gfile` or `mox.file`.")),
    ],
)
def test_open_of_path_that_begins_with_bucket(dialect, named):
    card = hint(dialect, *FAILURES["path_bucket_unknown"])

    assert card.code == "path_bucket_unknown"
    assert all(word in card.en for word in named)


def test_a_store_that_no_job_reads():
    assert "has no access to hdfs://a/b" in hint("dls", *FAILURES["path_scheme.store"]).en


def test_object_missing_in_tensorflow_gets_no_open_hint():
    missing = "s3://dls-test/a.txt; No such file or directory"

    assert hint("dls", "NotFoundError", missing) is None


@pytest.mark.parametrize(
    ("dialect", "named"),
    [
        ("modelmaker", "(`--data URI`)"),
        ("dls", "(`--data-url URI`)"),
        ("ti", "(`--channel NAME=URI`)"),
        ("kdl", "put mnist.npz into the code folder"),
    ],
)
def test_a_missing_data_file(dialect, named):
    assert named in hint(dialect, *FAILURES["data_file"]).en


def test_an_empty_data_url_that_dls_sends_itself():
    card = hint("dls", *FAILURES["path_empty"], data_url="", urls="auto")

    assert card.code == "path_empty"
    assert "give it a value with `--data-url URI`" in card.en
    assert "leave it out" not in card.en


def test_an_empty_parameter_may_be_left_out():
    card = hint("dls", *FAILURES["path_empty"], parameters={"model_dir": ""})

    assert "--model_dir without a value" in card.en
    assert "leave it out of the job" in card.en


@pytest.mark.parametrize("dialect", ["dls", "modelarts"])
def test_name_appended_to_url_without_slash(dialect):
    card = hint(dialect, "FileNotFoundError", NO_FILE.format("obs://in/data.txt"))

    assert card.code == "path_url"
    assert "run it with `--data-url obs://in/data/ --urls none`" in card.en
    assert "`--data-url obs://in/data/ --urls none`" in card.zh


def test_hint_for_missing_checkpoint_describes_second_job():
    card = hint("modelarts", *FAILURES["checkpoint_none"])

    assert "empty" not in card.en
    assert "空" not in card.zh
    assert "the script finds the file checkpoint and the files it names" in card.en


def test_predownload_is_named_for_modelarts_only():
    hints = {name: hint(name, *FAILURES["checkpoint_none"]).en for name in dialects.BUILT_IN}

    assert [name for name, text in hints.items() if "--predownload" in text] == ["modelarts"]
