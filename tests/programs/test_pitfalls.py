"""Programs that fall into a pitfall the services describe: their users are told the way out."""

import os

import pytest

STRICT = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1)
args = parser.parse_args()
"""


def told(person, done, name):
    """Return the card of a job, after looking for it wherever its cause is."""
    card = person.asks("show", name)["cause"]["card"]
    assert card["en"] in done.stderr
    assert card["en"] in person.types("show", name).stdout
    assert card["zh"] in person.types("show", name, "--lang", "zh").stdout
    return card["code"]


def test_a_strict_parser_is_told_of_the_services_arguments(person):
    script = person.script(STRICT)
    data = person.folder / "data"
    data.mkdir()
    (data / "a.csv").write_text("1")

    done = person.types("run", script, "--name", "strict", "--data-url", data, code=5)

    assert told(person, done, "strict") == "argument_ours"
    assert "train.py: error: unrecognized arguments: --data_url=" in done.stderr
    assert "parse_known_args()" in done.stderr


def test_a_strict_parser_is_told_of_the_jobs_own_parameter(person):
    script = person.script(STRICT)

    done = person.types("run", script, "--name", "strict", "-p", "lr=0.1", code=5)

    assert told(person, done, "strict") == "argument_yours"
    assert "--lr is a parameter of this job" in done.stderr


def test_a_hyperparameter_ti_gives_to_a_strict_parser(person):
    script = person.script(STRICT)
    words = ["--dialect", "ti", "--entry-point", "train.py", "-p", "lr=0.1"]

    done = person.types("run", script.parent, "--name", "strict", *words, code=5)

    assert told(person, done, "strict") == "argument_hyperparameter"


def test_dls_sends_an_empty_data_url(person):
    script = person.script(
        "import argparse, os\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--data_url', default='/data/of/mine')\n"
        "args, unknown = parser.parse_known_args()\n"
        "open(os.path.join(args.data_url, 'numbers.txt'))\n"
    )

    done = person.types("run", script, "--name", "empty", "--dialect", "dls", code=5)

    assert told(person, done, "empty") == "path_empty"


def test_a_place_in_the_store_is_no_path(person):
    script = person.script("open('obs://dls-test/a.txt')\n")

    done = person.types("run", script, "--name", "plain-open", code=5)

    assert told(person, done, "plain-open") == "path_scheme"


def test_a_module_beside_the_script_that_is_not_found(person):
    script = person.script("import tools\n")
    person.script("", "lib/tools.py")

    done = person.types("run", script.parent, "--name", "lost", "--boot-file", "train.py", code=5)

    assert told(person, done, "lost") == "module_in_code"
    assert "lib/tools.py" in done.stderr


def test_python_2_runs_and_is_told_with_its_line(person):
    script = person.script("import os\nprint 'step', 7 / 2\n")

    done = person.types("run", script, "--name", "old")

    assert "step 3" in done.stdout
    assert "[danlu] train.py:2: Python 2: print statement read as print(…)" in done.stderr


def test_a_full_width_comma_is_read_as_a_plain_one(person):
    script = person.script("print('most'， max(1， 2))\n")

    done = person.types("run", script, "--name", "wide")

    assert "most 2" in done.stdout
    assert "[danlu] train.py:1: ， (U+FF0C) read as ," in done.stderr


def test_a_slip_of_the_fingers_is_told_with_the_keyword(person):
    script = person.script("def f():\n    reutrn 3\n")

    done = person.types("run", script, "--name", "slip", code=5)

    assert told(person, done, "slip") == "keyword_near"
    assert "write `return`." in done.stderr


def test_a_script_that_wrote_nothing_is_a_success_with_a_note(person):
    script = person.script("open('/cache/model', 'w').write('m')\n")

    done = person.types("run", script, "--name", "empty", "--train-url", "obs://bucket/out")

    assert told(person, done, "empty") == "nothing_written"
    assert "Note: The script wrote nothing below" in done.stderr


def test_a_success_needs_no_word(person):
    script = person.script("import sys\nopen(sys.argv[1].split('=', 1)[1] + '/m', 'w').close()\n")

    done = person.types("run", script, "--name", "good", "--train-url", "obs://bucket/out")

    assert person.asks("show", "good")["cause"]["card"] is None
    assert "Note:" not in done.stderr


def test_an_input_taken_away_before_the_job_began(person):
    person.env["DANLU_CPUS"] = "1"
    go = person.folder.parent / "go"
    first = f"import os, time\nwhile not os.path.exists({str(go)!r}):\n    time.sleep(0.05)\n"
    person.types("run", person.script(first, "first.py"), "--name", "first", "--detach")
    script = person.script("print('never')\n")
    data = person.folder / "data"
    data.mkdir()
    (data / "a.csv").write_text("1")
    person.types("store", "cp", "-r", data, "obs://bucket/data")
    words = ["--data-url", "obs://bucket/data", "--name", "late", "--detach"]
    person.types("run", script, *words)

    person.types("store", "rm", "-r", "obs://bucket/data")
    go.touch()

    done = person.types("wait", "late", code=5)
    assert told(person, done, "late") == "input_gone"


def test_an_input_that_is_not_there_is_told_at_submit(person):
    script = person.script("print(1)\n")
    (person.folder / "nothing-in-it").mkdir()

    missing = person.types("run", script, "--data-url", "obs://bucket/none", code=2)
    empty = person.types("run", script, "--data-url", person.folder / "nothing-in-it")

    assert "there is nothing at 'obs://bucket/none'" in missing.stderr
    assert "nothing-in-it is an empty folder; the script will find no file" in empty.stderr


def test_an_output_of_two_jobs_is_told_at_submit(person):
    script = person.script("import time\ntime.sleep(600)\n")
    words = ["--train-url", "obs://bucket/out"]
    person.types("run", script, "--name", "first", *words, "--detach")

    second = person.types("run", script, "--name", "second", *words, code=2)

    assert "'obs://bucket/out' is an output of job 'first', which has not ended" in second.stderr
    assert "danlu wait first" in second.stderr
    person.types("stop", "first", "--grace", "0")


def test_an_output_inside_an_input_is_told_at_submit(person):
    script = person.script("print(1)\n")
    data = person.folder / "data"
    data.mkdir()
    (data / "a.csv").write_text("1")
    person.types("store", "cp", "-r", data, "obs://bucket/data")

    words = ["--data-url", "obs://bucket/data", "--train-url", "obs://bucket/data/out"]
    done = person.types("run", script, *words, code=2)

    assert "'obs://bucket/data/out' overlaps with data_url 'obs://bucket/data'" in done.stderr
    assert "give the output a place of its own" in done.stderr


def test_peers_of_a_failed_worker_do_not_say_a_user_stopped_them(person):
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
    assert log.count("ended: with its job, because worker-1 ended first: script failed") == 3
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

    assert told(person, done, "no") == "denied_output"
