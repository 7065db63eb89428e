"""Every pitfall by a real program that falls into it, and by others that only come near."""

import os
import string
from dataclasses import replace

import pytest

from danlu.job.state import Reason
from danlu.job.status import Failure, Kept
from danlu.messages import catalogue
from danlu.service.diagnosis.hints import CARDS
from script_run import Stage, card

STRICT = """
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, {more})
    print(parser.parse_args())
"""
ABSL = """
    import sys
    from absl import app, flags
    flags.DEFINE_integer('steps', {steps}, '')
    {required}
    {start}
"""
RUN, READ = "app.run(print)", "flags.FLAGS(sys.argv)"  # one ends the process, the other raises


def absl(start=RUN, steps=1, required=""):
    return ABSL.format(start=start, steps=steps, required=required)


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path / "根 root")


DATA = {"data_url": "obs://bucket/data"}
OUT = {"train_url": "obs://bucket/out"}


def test_an_argument_of_the_service(stage):
    cause = stage.asks(**DATA, **OUT).run(STRICT.format(more="default=1"))

    assert cause.en.startswith("train.py: error: unrecognized arguments: --data_url=")
    assert card(cause) == "argument_ours"
    assert cause.card.en.startswith("--data_url, --train_url comes from the service")
    assert cause.card.zh.startswith("--data_url, --train_url 由服务传入")
    assert "parse_known_args()" in cause.card.en


def test_the_flags_of_several_nodes_are_the_services(stage):
    stage.roles = ("ps", "worker")

    cause = stage.run(STRICT.format(more="default=1"))

    assert card(cause) == "argument_ours"
    assert "--job_name, --task_index, --ps_hosts, --worker_hosts, --num_gpus" in cause.card.en


def test_parameter_of_job_script_does_not_know(stage):
    cause = stage.asks(parameters={"steps": 3, "note": "two words"}).run(STRICT.format(more=""))

    assert card(cause) == "argument_yours"
    assert cause.card.en.startswith("--note is a parameter of this job")


def test_both_kinds_at_once_are_distinguished(stage):
    cause = stage.asks(**DATA, parameters={"lr": 1}).run(STRICT.format(more="default=1"))

    assert card(cause) == "argument_both"
    assert cause.card.en.startswith("--data_url comes from the service and --lr from this job's")


def test_a_hyperparameter_of_ti(stage):
    stage.dialect = "ti"

    cause = stage.asks(parameters={"lr": 1}).run(STRICT.format(more="default=1"))

    assert card(cause) == "argument_hyperparameter"


def test_an_argument_that_is_missing(stage):
    cause = stage.run(STRICT.format(more="required=True"))

    assert card(cause) == "argument_missing"
    assert "danlu rerun mnist -p steps=…" in cause.card.en


def test_an_input_that_is_missing(stage):
    cause = stage.run(
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('-d', '--data_url', required=True)\np.parse_args()\n"
    )

    assert card(cause) == "channel_missing"
    assert "--data-url obs://…" in cause.card.en


@pytest.mark.parametrize("value", ["", "many"])
def test_an_argument_with_a_value_of_another_kind(stage, value):
    cause = stage.asks(parameters={"steps": value}).run(STRICT.format(more=""))

    assert card(cause) == "argument_value"
    assert f"invalid int value: {value!r}" in cause.card.en


@pytest.mark.parametrize("start", [RUN, READ])
def test_a_flag_of_the_service(stage, start):
    cause = stage.asks(**DATA).run(absl(start))

    assert card(cause) == "flag_ours"
    assert "flags.DEFINE_string('data_url', '', '')" in cause.card.en
    assert "Unknown command line flag 'data_url'" in cause.en


def test_a_flag_of_the_jobs_own(stage):
    cause = stage.asks(parameters={"step": 1}).run(absl())

    assert "Unknown command line flag 'step'. Did you mean: steps ?" in cause.en
    assert card(cause) == "flag_yours"


@pytest.mark.parametrize("start", [RUN, READ])
def test_a_flag_that_is_missing(stage, start):
    cause = stage.run(absl(start, None, "flags.mark_flag_as_required('steps')"))

    assert card(cause) == "argument_missing"
    assert "`danlu rerun mnist -p steps=…`" in cause.card.en


CLICK = """
    import click
    def main(**options): print(options)
    for name in ("steps", "rate"):
        main = click.option("--" + name)(main)
    click.command()(main)()
"""


def test_an_option_that_click_does_not_know(stage):
    theirs = stage.asks(parameters={"stepss": 3}).run(CLICK)
    ours = stage.asks(**DATA, parameters={}).run(CLICK)

    assert theirs.en.startswith("Error: No such option '--stepss'. Did you mean '--steps'?")
    assert (card(theirs), card(ours)) == ("option_yours", "option_ours")
    assert theirs.card.en.startswith("--stepss is a parameter of this job that the script does not")


@pytest.mark.parametrize("start", [RUN, READ])
def test_a_flag_with_a_value_of_another_kind(stage, start):
    cause = stage.asks(parameters={"steps": ""}).run(absl(start))

    assert card(cause) == "argument_value"
    assert "flag --steps=" in cause.en


@pytest.mark.parametrize(
    "script",
    [
        "import sys; print('train.py: error: unrecognized arguments: --x=1'); sys.exit(3)",
        "import sys; print('error: unrecognized arguments: --x=1'); sys.exit(2)",
        "import sys; print('train.py: error: unrecognized arguments: --x=1')",
        "print('train.py: error: unrecognized arguments: --x=1'); raise ValueError(2)",
        # Its own words, not those of the job.
        "import argparse; argparse.ArgumentParser().parse_args(['--y'])",
        "import argparse; argparse.ArgumentParser().error('bad data')",
        "import sys; print('FATAL Flags parsing error: Unknown command line flag \\'x\\''); 1/0",
    ],
)
def test_what_only_looks_like_an_argument(stage, script):
    assert card(stage.asks(parameters={"x": 1}).run(script)) is None


def test_other_parser_message_is_only_the_cause(stage):
    cause = stage.run("import argparse; argparse.ArgumentParser().error('bad data')")

    assert cause.en == "train.py: error: bad data (exit code 2)"


def test_place_in_store_opened_as_file(stage):
    cause = stage.run("open('s3://dls-test/a.txt')")

    assert card(cause) == "path_scheme"
    assert "s3://dls-test/a.txt" in cause.card.en


@pytest.mark.parametrize(
    "script",
    [
        "import os; os.listdir('s3://bucket/data')",
        "from pathlib import Path; Path('obs://bucket/data/a.txt').read_text()",
        "open('obs://bucket/out/log.txt', 'w')",
    ],
)
def test_place_in_store_that_is_here_already(stage, script):
    cause = stage.asks(**DATA, **OUT).run(script)

    assert card(cause) == "path_of_channel"
    assert str(stage.folder) in cause.card.en


def test_input_that_is_url_opened_as_file(stage):
    cause = stage.asks(**DATA, urls="all").run(
        "import sys\nopen(sys.argv[1].split('=', 1)[1] + '/a.txt')\n"
    )

    assert card(cause) == "path_url"
    assert "--urls none" in cause.card.en


@pytest.mark.parametrize(
    ("script", "fields", "code"),
    [
        ("open('s3://other/a.txt', 'w')", {}, "path_scheme"),
        ("with open('s3://other/a.txt', mode='ab') as f: pass", {}, "path_scheme"),
        ("from pathlib import Path; Path('s3://other/a').write_text('1')", {}, "path_scheme"),
        ("open('hdfs://other/a.txt', 'w')", {}, "path_scheme"),
        ("import sys\nopen(sys.argv[1].split('=')[1] + '/a', 'w')", {"urls": "all"}, "path_url"),
        ("open('/bucket/data/a.txt', 'w')", {}, "path_bucket"),
        ("open('/dls-test/a.txt', 'w')", {}, "path_bucket_unknown"),
    ],
)
def test_hint_for_writing_does_not_speak_of_reading(stage, script, fields, code):
    cause = stage.asks(**(DATA if code != "path_scheme" else {}), **fields).run(script)

    assert card(cause) == code
    assert " write" in cause.card.en
    assert " read" not in cause.card.en
    assert "写入" in cause.card.zh
    assert "读取" not in cause.card.zh


def test_place_of_bucket_taken_for_path(stage):
    cause = stage.asks(**DATA).run("open('/bucket/data/a.txt')")

    assert card(cause) == "path_bucket"
    assert "obs://bucket/data/a.txt" in cause.card.en


@pytest.mark.parametrize(
    "script",
    [
        "open('/dls-test/a.txt')",
        "import os; os.listdir('/dls-test/data')",
        "open('/dls-test/out/log.txt', 'w')",
    ],
)
def test_path_beginning_with_unknown_bucket_gives_hint(stage, script):
    cause = stage.asks(**DATA).run(script)

    assert card(cause) == "path_bucket_unknown"
    verb = "write" if "'w'" in script else "read"
    assert f"if dls-test is a bucket, {verb} `obs://dls-test/" in cause.card.en


def test_flag_without_value_used_as_path(stage):
    script = """
        import argparse, os
        parser = argparse.ArgumentParser()
        parser.add_argument("--data_url", default="/data")
        args = parser.parse_args()
        open({path})
    """
    for path in ("os.path.join(args.data_url, 'a')", "args.data_url + '/a'", "args.data_url"):
        cause = stage.asks(parameters={"data_url": ""}).run(script.format(path=path))

        assert card(cause) == "path_empty"
        assert "--data_url without a value" in cause.card.en


def test_a_file_an_input_does_not_have(stage):
    cause = stage.asks(**DATA).run(
        "import sys\nopen(sys.argv[1].split('=', 1)[1] + '/train/a.csv')\n"
    )

    assert card(cause) == "path_input"
    assert "has no train/a.csv: see what it has with `danlu store ls -r obs://bucket/data`" in (
        cause.card.en
    )


def test_an_input_that_vanished_after_the_submit(stage):
    failure = Failure(detail="There is nothing at 'obs://bucket/data'.")

    assert card(stage.asks(**DATA).ends(Reason.FETCH_FAILED, failure)) == "input_gone"
    assert card(stage.asks(**DATA).ends(Reason.FETCH_FAILED, Failure(detail="?"))) is None


@pytest.mark.parametrize(
    "script",
    [
        "open('no/such/file')",
        "open('/data/a.txt')",
        "open('/mnt/disk/a.txt')",
        "open('/Nobody/a.txt')",
        "open('/a.txt')",
        "open('/cache/some/a.txt')",
        "open('http://host/a.txt')",
        "raise FileNotFoundError('the model is not there')",
        "raise ValueError(\"[Errno 2] No such file or directory: 's3://bucket/a'\")",
        "print(open('data_url').read())",
    ],
)
def test_what_is_only_not_there(stage, script):
    assert card(stage.asks(**DATA, parameters={"x": ""}).run(script)) is None


def test_model_exported_to_folder_that_is_there(stage):
    export = """
        import os, sys
        path = os.path.join(sys.argv[1].split("=", 1)[1], "1")
        os.makedirs(path)
        if os.path.exists(path):
            raise AssertionError(
                "Export directory already exists. "
                f"Please specify a different export directory: {path}"
            )
    """
    cause = stage.asks(**OUT).run(export)

    assert card(cause) == "export_exists"
    assert cause.card.en.startswith(str(stage.folder))
    assert "danlu store rm -r obs://bucket/out" in cause.card.en
    assert card(stage.run("raise AssertionError('it already exists: /tmp/1')")) is None
    assert card(stage.run("assert 1 == 2, 'shapes'")) is None


def test_a_folder_that_is_made_for_the_script(stage):
    cause = stage.asks(**OUT).run("import os, sys\nos.makedirs(sys.argv[1].split('=', 1)[1])\n")

    assert card(cause) == "folder_exists"
    assert card(stage.run("import os; os.mkdir('/tmp')")) is None


@pytest.mark.parametrize(
    ("files", "script", "folder"),
    [
        ({"lib/tools.py": ""}, "import tools", "'lib'"),
        ({"lib/tools/__init__.py": ""}, "from tools import x", "'lib'"),
        ({"lib/tools/net.py": ""}, "import tools.net", "'lib'"),
        ({"a/b/one.py": "import two", "a/two.py": ""}, "import a.b.one", "'..'"),
    ],
)
def test_module_outside_of_search_path_gives_hint(stage, files, script, folder):
    cause = stage.run(script, files)

    assert card(cause) == "module_in_code"
    assert f"(os.path.abspath(__file__)), {folder})" in cause.card.en


def test_module_by_name_of_other_case(stage):
    cause = stage.run("import utils_of_mine", {"Utils_of_mine.py": ""})

    assert card(cause) == "module_case"
    assert "Utils_of_mine.py" in cause.card.en


def test_a_package_that_is_not_installed(stage):
    cause = stage.run("from sklearn_crfsuite import CRF")

    assert card(cause) == "module_package"
    assert "`sklearn_crfsuite` to pip-requirements.txt" in cause.card.en


def test_a_package_by_another_name_than_its_import(stage):
    stage.dialect = "ti"

    cause = stage.run("import MySQLdb")

    assert "`mysqlclient` to requirements.txt" in cause.card.en


WITHOUT = """
    import sys
    class Without:
        def find_spec(self, name, path=None, target=None):
            if name == "{name}":
                raise ModuleNotFoundError("No module named '{name}'", name=name)
    sys.meta_path.insert(0, Without())
    import {name}
"""


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("cv2", "opencv-python-headless"),
        ("yaml", "PyYAML"),
        ("sklearn", "scikit-learn"),
        ("PIL", "Pillow"),
        ("pandas", "pandas"),
    ],
)
def test_a_package_that_may_be_there_or_not(stage, name, package):
    stage.dialect = "ti"

    cause = stage.run(WITHOUT.format(name=name))

    assert cause.card.en == f"Add a line `{package}` to requirements.txt in the code folder."


@pytest.mark.parametrize(
    "script", ["from npu_bridge.estimator import npu_ops", "import npu_bridge", "import torch_npu"]
)
def test_a_package_of_huaweis_processors(stage, script):
    cause = stage.run(script)

    assert card(cause) == "module_npu"
    assert "there is no version of it for a CPU or GPU" in cause.card.en


def test_unknown_module(stage):
    assert card(stage.run("import no_such_thing_anywhere")) == "module_unknown"
    assert card(stage.run("raise ImportError('cannot import name x from y')")) is None


def test_a_module_of_older_pythons(stage):
    cause = stage.run("import sets")

    assert card(cause) == "module_python2"
    assert "today it is `set`" in cause.card.en
    assert card(stage.run("import cPickle as pickle\npickle.dumps(1)")) is None


def test_tensorflow_is_not_there(stage):
    hidden = "import sys; sys.modules['tensorflow'] = None\ntry:\n    import tensorflow\nexcept"
    hidden += " ImportError:\n    raise ModuleNotFoundError(\"No module named 'tensorflow'\")"

    assert card(stage.run(hidden)) == "module_tensorflow"


@pytest.mark.parametrize("script", ["import moxing.tensorflow.nope", "import moxing as m; m.nope"])
def test_what_moxing_has_not_yet(stage, script):
    assert card(stage.run(script)) == "module_moxing"


@pytest.fixture
def no_fissix(tmp_path):
    """A folder for PYTHONPATH that hides the package which reads Python 2."""
    path = tmp_path / "hidden/fissix"
    path.mkdir(parents=True)
    (path / "__init__.py").write_text("raise ImportError('hidden', name='fissix')\n")
    return str(path.parent)


@pytest.mark.parametrize(
    ("script", "instead"),
    [
        ("print 'hello'", "print(…)"),
        ("exec 'x = 1'", "exec(…)"),
        ("try:\n    pass\nexcept ValueError, e:\n    pass", "except Error as name:"),
        ("raise ValueError, 'no'", "raise Error(…)"),
        ("if 1 <> 2: pass", "!="),
        ("mode = 0755", "0o…"),
    ],
)
def test_python_2_is_reported_with_what_to_write(stage, script, instead, no_fissix):
    cause = stage.run("import os\n" + script, PYTHONPATH=no_fissix)

    assert card(cause) == "python2_syntax"
    assert instead in cause.card.en
    assert "train.py, line " in cause.card.en


def test_tabs_among_spaces(stage):
    cause = stage.run("if True:\n   x = 1\n\ty = 2\n")

    assert card(cause) == "python2_tabs"
    assert "train.py, line 3" in cause.card.en


@pytest.mark.parametrize(
    ("script", "keyword"),
    [
        ("def f():\n    reutrn 3", "return"),
        ("\nimprot os", "import"),
        ("\nx = 1 fi 2 else 3", "if"),
    ],
)
def test_a_keyword_with_a_slip_of_the_fingers(stage, script, keyword):
    cause = stage.run(script)

    assert card(cause) == "keyword_near"
    assert cause.en.endswith(f"(train.py:2: {script.splitlines()[1].strip()})")
    assert f"Probable typo in train.py, line 2: use `{keyword}`" in cause.card.en


@pytest.mark.parametrize(
    ("script", "instead"),
    [
        ("xrange(3)", "range"),
        ("{}.iteritems()", "d.items()"),
        ("{}.has_key(1)", "key in d"),
        ("import sys\nprint >>sys.stderr, 'hello'", "print(…, file=…)"),
    ],
)
def test_names_of_python_2(stage, script, instead):
    cause = stage.run("import sys\nnew = sys.version_info[0] > 2\n" + script)

    assert card(cause) == "python2_name"
    assert f"write `{instead}`" in cause.card.en


@pytest.mark.parametrize(
    ("script", "column"),
    [
        ("x = 《1》", "column 5"),
        ("def f(x):\n    return f〖x〗", "column 13"),
    ],
)
def test_punctuation_of_a_chinese_keyboard(stage, script, column):
    cause = stage.run(script)

    assert card(cause) == "full_width"
    assert column in cause.card.en


@pytest.mark.parametrize(
    "script",
    [
        "x = (1,",
        "x = 1 +",
        "if True:\nx = 1",
        "x = “a”".replace("“", "€").replace("”", "€"),
        "rnage(3)",
        "{}.itmes()",
        "raise NameError('xrange')",
        "raise SyntaxError('invalid syntax')",
    ],
)
def test_what_is_wrong_in_any_python(stage, script):
    assert card(stage.run(script)) is None


def test_a_variable_of_another_service(stage):
    cause = stage.run("import os\nos.environ['TM_CHANNEL_TRAIN']\n")

    assert card(cause) == "variable_service"
    assert "A job of modelarts has no TM_CHANNEL_TRAIN" in cause.card.en
    assert card(stage.run("{}['TM_']['x']")) is None
    assert card(stage.run("{}['loss']")) is None


def test_a_proxy_taken_away_where_there_is_none(stage):
    take = "import os\nos.environ.pop('no_proxy', None)\n"
    take += "[os.environ.pop(n, 0) for n in list(os.environ) if n.lower() == 'http_proxy']\n"

    cause = stage.run(take + "os.environ.pop('http_proxy')\n")

    assert card(cause) == "proxy_pop"
    assert "os.environ.pop('http_proxy', None)" in cause.card.en


def as_another_user(then):
    """The failure itself must be reported where it can be written."""
    return f"import os, sys\nos.seteuid(65534)\ntry:\n    {then}\nfinally:\n    os.seteuid(0)\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(
    ("then", "code"),
    [
        ("open(sys.argv[1].split('=', 1)[1] + '/a', 'w')", "denied_input"),
        ("open(sys.argv[2].split('=', 1)[1] + '/a', 'w')", "denied_output"),
        ("open('/etc/danlu-was-here', 'w')", "denied_elsewhere"),
        ("open(os.path.dirname(__file__) + '/a', 'w')", "denied_code"),
        ("raise PermissionError('not today')", None),
    ],
)
def test_what_may_not_be_written(stage, then, code):
    assert card(stage.asks(**DATA, **OUT).run(as_another_user(then))) == code


def test_memory(stage):
    cause = stage.asks(parameters={"batch": 9}).run("x = bytearray(1 << 60)")

    assert card(cause) == "out_of_memory"
    assert "danlu rerun mnist -p batch=…" in cause.card.en


def test_a_full_disk(stage):
    fill = "file = open('/dev/full', 'w')\nfile.write('x')\nfile.flush()\n"

    assert card(stage.run(fill)) == "disk_full"


def test_a_full_cache(stage):
    fill = "def fill(path):\n    with open('/dev/full', 'w') as f:\n        f.write('x')\n"

    assert card(stage.run(fill + "fill('/cache/big')\n")) == "disk_full_cache"
    assert card(stage.run("raise OSError('the cache is full')")) is None


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "exit_137"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", None),
        ("import ctypes; ctypes.string_at(0)", "exit_139"),
        ("import os; os.abort()", "exit_139"),
        (
            "import subprocess, sys\n"
            "kills = 'import os; os.kill(os.getpid(), 9)'\n"
            "sys.exit(subprocess.call([sys.executable, '-c', kills]))\n",
            "exit_247",
        ),
        ("import sys; sys.exit(7)", None),
        ("import sys; sys.exit(255)", None),
        ("import sys; sys.exit('no data')", None),
    ],
)
def test_exit_codes(stage, script, code):
    assert card(stage.run(script)) == code


def test_a_path_of_the_machines_tmp(stage):
    failure = Failure(
        "FileNotFoundError",
        "[Errno 2] No such file or directory: '/tmp/mnist/a.gz'",
        hidden="/tmp/mnist/a.gz",
    )

    cause = stage.ends(Reason.SCRIPT_FAILED, failure)

    assert card(cause) == "tmp_own"
    assert "/tmp/mnist/a.gz exists on this machine" in cause.card.en
    assert "`--input NAME=URI`" in cause.card.en
    stage.dialect = "kdl"
    assert "--" not in stage.ends(Reason.SCRIPT_FAILED, failure).card.en
    assert card(stage.ends(Reason.SCRIPT_FAILED, replace(failure, hidden=""))) is None


def test_shared_memory_that_is_full(stage):
    failure = Failure("OSError", "[Errno 28] No space left on device", disk_full="/dev/shm/x")

    cause = stage.ends(Reason.DISK_FULL, failure)

    assert card(cause) == "disk_full_shm"
    assert "`danlu show mnist`" in cause.card.en


def test_too_many_processes(stage):
    failure = Failure("RuntimeError", "can't start new thread", exit_code=1, process_limit=64)

    cause = stage.ends(Reason.TOO_MANY_PROCESSES, failure)

    assert card(cause) == "too_many_processes"
    assert "more than 64 needs a larger `process_limit`" in cause.card.en


def test_a_proxy_between_nodes(stage):
    stage.roles = ("ps", "worker")
    waits = "raise TimeoutError('worker 1 did not answer')"

    assert card(stage.run(waits)) == "nodes_wait"
    stage.asks(env={"http_proxy": "http://proxy:3128"})
    assert card(stage.run(waits)) == "proxy_between_nodes"
    assert card(stage.ends(Reason.TIMED_OUT, Failure())) == "proxy_between_nodes"
    assert card(stage.run("raise ValueError('timeout')")) is None
    stage.roles = ("worker",)
    assert card(stage.run(waits)) is None


def test_a_job_that_did_well_and_wrote_nothing(stage):
    assert card(stage.ends(Reason.DONE)) is None
    stage.asks(**OUT)
    assert card(stage.ends(Reason.DONE, pushed=1)) is None
    cause = stage.ends(Reason.DONE)
    assert cause.code == "done"
    assert card(cause) == "nothing_written"
    one, two = (stage.ends(Reason.DONE, kept=Kept(files, 5, 0, 0.0)) for files in (1, 2))
    assert "1 file in its working directory is kept" in one.card.en
    assert "2 files in its working directory are kept" in two.card.en


def test_a_folder_named_as_a_url(stage):
    stage.asks(**OUT)
    cause = stage.ends(Reason.DONE, kept=Kept(1, 5, 1, 0.0, ("s3://elsewhere/model.h5",)))

    assert (cause.code, card(cause)) == ("done", "url_folder")
    assert cause.card.en.startswith("s3://elsewhere/model.h5: not in the store")
    assert "--urls" not in cause.card.en


def test_script_message_controls_no_terminal(stage):
    cause = stage.run("open('s3://b/\\x1b[2J\\x07' + 'x' * 3000)")

    assert card(cause) == "path_scheme"
    assert cause.card.en.isprintable()
    assert len(cause.card.en) < 700


def test_stopped_job_has_no_hint(stage):
    failure = Failure(exception="SystemExit", exit_code=2, last_lines=("a: error: b",))

    assert card(stage.ends(Reason.STOPPED_BY_USER, failure)) is None


def test_every_hint_has_a_text_and_vice_versa():
    for lang in ("en", "zh"):
        lines = {k.split(".")[1] for k in catalogue(lang) if k.startswith("card.")}
        assert lines == set(CARDS)


def test_hint_is_one_sentence():
    for key, text in catalogue("en").items():
        if key.startswith("card."):
            assert text.endswith("."), key
            assert string.Formatter().parse(text)
            assert len(text) < 300, key


@pytest.mark.parametrize("line", ["os.makedirs('train.py/a/b')", "os.path.join(None, 'a')"])
def test_line_in_cause_is_of_script(stage, line):
    cause = stage.run(f"import os\n{line}\n")

    assert "train.py:2" in cause.en
    assert "frozen" not in cause.en
