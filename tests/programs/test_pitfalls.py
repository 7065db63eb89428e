"""Programs that fall into a pitfall the services describe: the cause has a hint."""

import os

import pytest

SHARED_HOME = True

STRICT = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1)
args = parser.parse_args()
"""
# The names are made at run time: the platform cannot read them before it runs.
MADE = """
import argparse
parser = argparse.ArgumentParser()
for name in ["steps", "rate"]:
    parser.add_argument("--" + name)
args = parser.parse_args()
"""


def hint_of(person, done, name):
    """Return the card of a job, after looking for it wherever its cause is."""
    card = person.asks("show", name)["cause"]["card"]
    assert card["en"] in done.stderr
    assert card["en"] in person.types("show", name).stdout
    assert card["zh"] in person.types("show", name, "--lang", "zh").stdout
    return card["code"]


def test_hint_names_service_arguments_for_strict_parser(person):
    script = person.script(STRICT)
    data = person.folder / "data"
    data.mkdir()
    (data / "a.csv").write_text("1")

    done = person.types("run", script, "--name", "strict", "--data-url", data, code=5)

    assert hint_of(person, done, "strict") == "argument_ours"
    assert "train.py: error: unrecognized arguments: --data_url=" in done.stderr
    assert "parse_known_args()" in done.stderr


def test_hint_names_job_parameter_for_strict_parser(person):
    script = person.script(MADE)

    done = person.types("run", script, "--name", "strict", "-p", "lr=0.1", code=5)

    assert hint_of(person, done, "strict") == "argument_yours"
    assert "--lr is a parameter of this job" in done.stderr


def test_a_hyperparameter_ti_gives_to_a_strict_parser(person):
    script = person.script(MADE)
    words = ["--dialect", "ti", "--entry-point", "train.py", "-p", "lr=0.1"]

    done = person.types("run", script.parent, "--name", "strict", *words, code=5)

    assert hint_of(person, done, "strict") == "argument_hyperparameter"


def test_unknown_parameter_is_refused_before_the_script_runs(person):
    script = person.script(STRICT)

    done = person.types("run", script, "--name", "misspelt", "-p", "stepss=3", code=2)

    assert "parameters.stepss: the script defines no parameter 'stepss'" in done.stderr
    assert "Did you mean 'steps'?" in done.stderr
    assert person.types("show", "misspelt", code=3).stdout == ""


def test_unknown_parameter_of_tolerant_parser_gives_note(person):
    tolerant = STRICT.replace("parse_args()", "parse_known_args()[0]\nprint('steps', args.steps)")
    words = ["-p", "stepss=3", "-p", "--steps=2"]

    done = person.types("run", person.script(tolerant), "--name", "tolerant", *words)

    assert "steps 2" in done.stdout
    assert "stepss: the script defines no parameter of this name" in done.stderr
    assert "Did you mean 'steps'?" in done.stderr


def test_dls_sends_an_empty_data_url(person):
    script = person.script(
        "import argparse, os\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--data_url', default='/data/of/mine')\n"
        "args, unknown = parser.parse_known_args()\n"
        "open(os.path.join(args.data_url, 'numbers.txt'))\n"
    )

    done = person.types("run", script, "--name", "empty", "--dialect", "dls", code=5)

    assert hint_of(person, done, "empty") == "path_empty"
    assert "give it a value with `--data-url URI`" in done.stderr


def test_a_place_in_the_store_is_no_path(person):
    script = person.script("open('obs://dls-test/a.txt')\n")

    done = person.types("run", script, "--name", "plain-open", code=5)

    assert hint_of(person, done, "plain-open") == "path_scheme"


def test_a_path_that_begins_with_a_bucket(person):
    script = person.script("open('/dls-test/a.txt')\n")

    done = person.types("run", script, "--name", "bucket", "--dialect", "dls", code=5)

    assert hint_of(person, done, "bucket") == "path_bucket_unknown"
    assert "read `obs://dls-test/a.txt`" in done.stderr
    assert "`--data-url URI`" in done.stderr


def test_module_beside_script_that_is_not_found(person):
    script = person.script("import tools\n")
    person.script("", "lib/tools.py")

    done = person.types("run", script.parent, "--name", "lost", "--boot-file", "train.py", code=5)

    assert hint_of(person, done, "lost") == "module_in_code"
    assert "lib/tools.py" in done.stderr


def test_python2_runs_and_is_reported_with_its_line(person):
    script = person.script("import os\nprint 'step', 7 / 2\n")

    done = person.types("run", script, "--name", "old")

    assert "step 3" in done.stdout
    assert "[danlu] train.py:2: Python 2: print statement read as print(…)" in done.stderr


def test_full_width_comma_is_read_as_plain_one(person):
    script = person.script("print('most'， max(1， 2))\n")

    done = person.types("run", script, "--name", "wide")

    assert "most 2" in done.stdout
    assert "[danlu] train.py:1: ， (U+FF0C) read as ," in done.stderr


def test_syntax_error_is_refused_before_job_is_queued(person):
    script = person.script("def f():\n    reutrn 3\n")

    done = person.types("run", script, "--name", "slip", code=2)

    assert "train.py:2: invalid syntax. Did you mean 'return'?: `reutrn 3`" in done.stderr
    person.types("show", "slip", code=3)


def test_script_that_wrote_nothing_is_success_with_note(person):
    script = person.script("open('/cache/model', 'w').write('m')\n")

    done = person.types("run", script, "--name", "empty", "--train-url", "obs://bucket/out")

    assert hint_of(person, done, "empty") == "nothing_written"
    assert "Note: The script wrote nothing below" in done.stderr


def test_a_success_needs_no_word(person):
    script = person.script("import sys\nopen(sys.argv[1].split('=', 1)[1] + '/m', 'w').close()\n")

    done = person.types("run", script, "--name", "good", "--train-url", "obs://bucket/out")

    assert person.asks("show", "good")["cause"]["card"] is None
    assert "Note:" not in done.stderr


def test_an_input_taken_away_before_the_job_began(alone):
    alone.env["DANLU_CPUS"] = "1"
    go = alone.folder.parent / "go"
    first = f"import os, time\nwhile not os.path.exists({str(go)!r}):\n    time.sleep(0.05)\n"
    alone.types("run", alone.script(first, "first.py"), "--name", "first", "--detach")
    script = alone.script("print('never')\n")
    data = alone.folder / "data"
    data.mkdir()
    (data / "a.csv").write_text("1")
    alone.types("store", "cp", "-r", data, "obs://bucket/data")
    words = ["--data-url", "obs://bucket/data", "--name", "late", "--detach"]
    alone.types("run", script, *words)

    alone.types("store", "rm", "-r", "obs://bucket/data")
    go.touch()

    done = alone.types("wait", "late", code=5)
    assert hint_of(alone, done, "late") == "input_gone"

    alone.types("store", "cp", "-r", data, "obs://bucket/data")  # the change that the hint names
    assert "never" in alone.types("rerun", "late").stdout


def test_missing_input_is_reported_at_submit(person):
    script = person.script("print(1)\n")
    (person.folder / "nothing-in-it").mkdir()

    missing = person.types("run", script, "--data-url", "obs://bucket/none", code=2)
    empty = person.types("run", script, "--data-url", person.folder / "nothing-in-it")

    assert "there is nothing at 'obs://bucket/none'" in missing.stderr
    assert "nothing-in-it is an empty folder; the script will find no file" in empty.stderr


def test_output_of_two_jobs_is_reported_at_submit(person):
    script = person.script("import time\ntime.sleep(600)\n")
    words = ["--train-url", "obs://bucket/out"]
    person.types("run", script, "--name", "first", *words, "--detach")

    second = person.types("run", script, "--name", "second", *words, code=2)

    assert "'obs://bucket/out' is an output of job 'first', which has not ended" in second.stderr
    assert "danlu wait first" in second.stderr
    person.types("stop", "first", "--grace", "0")


def test_output_inside_input_is_reported_at_submit(person):
    script = person.script("print(1)\n")
    data = person.folder / "data"
    data.mkdir()
    (data / "a.csv").write_text("1")
    person.types("store", "cp", "-r", data, "obs://bucket/data")

    words = ["--data-url", "obs://bucket/data", "--train-url", "obs://bucket/data/out"]
    done = person.types("run", script, *words, code=2)

    assert "'obs://bucket/data/out' overlaps with data_url 'obs://bucket/data'" in done.stderr
    assert "give the output a location of its own" in done.stderr


def test_peers_of_failed_worker_are_not_user_stopped(person):
    script = person.script(
        "import sys, time\n"
        "flags = dict(word.lstrip('-').split('=', 1) for word in sys.argv[1:])\n"
        "if flags['job_name'] == 'worker' and flags['task_index'] == '1':\n"
        "    raise ValueError('worker 1 is broken')\n"
        "time.sleep(600)\n"
    )

    done = person.types("run", script, "--name", "pair", "--nodes", "2", code=5)

    assert "ValueError: worker 1 is broken" in done.stderr
    log = person.types("logs", "pair").stdout
    assert log.count("ended: with its job, because worker-1 ended first: the script failed") == 3
    assert "user" not in log.replace("/home/ma-user", "").replace("user-job-dir", "")
    assert "ended with its job" in person.types("show", "pair").stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_output_that_may_not_be_written(person):
    script = person.script(
        "import os, sys\n"
        "os.seteuid(65534)\n"
        "try:\n"
        "    open(sys.argv[1].split('=', 1)[1] + '/model', 'w')\n"
        "finally:\n"
        "    os.seteuid(0)\n"
    )

    done = person.types("run", script, "--name", "no", "--train-url", "obs://bucket/o", code=5)

    assert hint_of(person, done, "no") == "denied_output"


def test_internal_error_is_reported_as_such(person):
    # The script breaks a module of MoXing, as a mistake in that module would.
    script = person.script(
        "import moxing as mox\n"
        "mox.file.exists.__wrapped__.__globals__['paths'] = None\n"
        "mox.file.exists('obs://bucket/model')\n"
    )

    done = person.types("run", script, "--name", "ours", code=5)

    assert "raised in Danlu's own code, moxing/framework/file/look.py:" in done.stderr
    assert "called from train.py:3)" in done.stderr
    shown = person.types("show", "ours").stdout
    assert "Traceback (most recent call last):" in shown
    assert "AttributeError: 'NoneType' object has no attribute 'exists'" in shown
    assert "丹炉自己的代码" in person.types("show", "ours", "--lang", "zh").stdout
