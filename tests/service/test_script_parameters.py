"""Parameters that a script does not define are reported when the job is submitted."""

import io
import tarfile
import textwrap

import pytest

from danlu.errors import InvalidJob
from danlu.usercode.parameters import MOXING, read_parameters

ARGPARSE = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("-m", "--max_steps", type=int, default=1000,
                    help="how long")
parser.add_argument('--learning-rate', dest="lr", type=float)
parser.add_argument("folder", nargs="?")
args = parser.parse_args()
"""
KNOWN_ONLY = ARGPARSE.replace("args = parser.parse_args()", "args, _ = parser.parse_known_args()")
TF_FLAGS = """
import tensorflow as tf
flags = tf.app.flags
flags.DEFINE_integer("max_steps", 1000, "how long")
flags.DEFINE_boolean(name="shuffle", default=True, help="")
print "Python 2"
tf.app.run()
"""
ABSL = """
from absl import app, flags
flags.DEFINE_integer("max_steps", 1000, "how long")
app.run(lambda _: None)
"""
CLICK = """
import click
@click.command()
@click.option("--max-steps", "-m", default=1000)
@click.option("--shuffle/--no-shuffle", default=True)
def main(max_steps, shuffle): pass
main()
"""
FIRE = """
import fire
def train(max_steps=1000, *, rate: float = 0.1): pass
fire.Fire(train)
"""
MODELMAKER = """
import tensorflow as tf
def train_input_fn(path, params):
    return read(path, params)
def read(path, options):
    return options["batch_size"]
def model_fn(features, labels, mode, params):
    return params.get("max_steps", 3) * params['rate']
"""


def of(text, **others):
    texts = {"train.py": textwrap.dedent(text)}
    return read_parameters(
        texts | {f"{name}.py": each for name, each in others.items()}, "train.py"
    )


@pytest.mark.parametrize(
    ("text", "parser", "strict", "shown"),
    [
        (ARGPARSE, "argparse", True, ("learning-rate", "m", "max_steps")),
        (KNOWN_ONLY, "argparse", False, ("learning-rate", "m", "max_steps")),
        (TF_FLAGS, "flags", False, ("max_steps", "shuffle")),
        (ABSL, "absl", True, ("max_steps",)),
        (CLICK, "click", True, ("m", "max-steps", "no-shuffle", "shuffle")),
        (FIRE, "fire", True, ("max_steps", "rate")),
    ],
    ids=["argparse", "parse_known_args", "tf.flags", "absl", "click", "fire"],
)
def test_parser_is_read_with_its_parameters(text, parser, strict, shown):
    found = of(text)

    assert (found.parser, found.strict, found.shown) == (parser, strict, shown)
    assert found.accepts(shown[0])
    assert not found.accepts("max_stepss")


UNREADABLE = {
    "a name made at run time": ARGPARSE + "for n in 'ab': parser.add_argument('--' + n)\n",
    "a formatted name": ARGPARSE + "parser.add_argument(f'--{n}')\n",
    "a starred call": ARGPARSE + "parser.add_argument(*names)\n",
    "another list than the command line": ARGPARSE.replace("parse_args()", "parse_args([])"),
    "a parser of a package": "from transformers import HfArgumentParser as P\n"
    "import transformers\ntransformers.HfArgumentParser(A).parse_args()\n",
    "argparse of another package": ARGPARSE.replace(
        "argparse\n", "configargparse as argparse\n", 1
    ),
    "a package adds arguments": ARGPARSE + "deepspeed.add_config_arguments(parser)\n",
    "parents": ARGPARSE.replace("Parser()", "Parser(parents=[base])"),
    "a subclass": ARGPARSE + "class P(argparse.ArgumentParser): pass\n",
    "subcommands": ARGPARSE + "parser.add_subparsers()\n",
    "arguments by hand": ARGPARSE + "import sys\nif len(sys.argv) > 3: pass\n",
    "arguments changed": "import sys\nsys.argv = sys.argv[:1]\n" + ARGPARSE,
    "a caught error": ARGPARSE + "try: pass\nexcept SystemExit: pass\n",
    "no parser": "import tensorflow as tf\nprint(1)\n",
    "a flag with a variable": TF_FLAGS + "flags.DEFINE_string(name, '', '')\n",
    "flags of a package": "import tensor2tensor\n" + TF_FLAGS,
    "modules that are named at run time": TF_FLAGS + "importlib.import_module(name)\n",
    "another parser of absl": ABSL.replace("None)", "None, flags_parser=mine)"),
    "a group of click": CLICK.replace("click.command", "click.group"),
    "options of a package of click": "import click_log\n" + CLICK,
    "a class of fire": FIRE.replace("Fire(train)", "Fire(Trainer)"),
    "any argument of fire": FIRE.replace("0.1)", "0.1, **more)"),
    "a file of another encoding": ARGPARSE + "# \ufffd\n",
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_nothing_is_reported_when_definitions_are_unreadable(text):
    assert of(text) is None


def test_argparse_accepts_the_beginning_of_a_name():
    assert of(ARGPARSE).accepts("max_st")


def test_flags_accept_negated_name_and_those_of_absl():
    found = of(TF_FLAGS)

    assert found.accepts("noshuffle")
    assert found.accepts("verbosity")


def test_sys_argv_may_be_parsed_and_printed():
    text = ARGPARSE.replace("parse_args()", "parse_args(sys.argv[1:])")

    assert of("import sys\nprint(sys.argv)\nprint(' '.join(sys.argv))\n" + text).strict


@pytest.mark.parametrize("called", ["main(sys.argv[1:])", "main()", "main(argv=sys.argv[1:])"])
def test_function_passing_its_argument_to_parser_is_read(called):
    text = "import sys\n" + ARGPARSE.replace("args = parser", "def main(argv=None):\n    parser")
    text = text.replace("parse_args()", "parse_args(argv)")

    assert of(text + called).strict
    assert of(text + "main(['--x'])") is None
    assert of(text + f"def other(x): pass\n{called}\nother(sys.argv[1:])\n") is None


def test_argparse_with_tf_app_run_is_tolerant():
    found = of(
        "import sys, tensorflow as tf\n"
        + KNOWN_ONLY
        + "tf.app.run(main=main, argv=[sys.argv[0]] + _)\n"
    )

    assert found.strict is False


def test_options_of_an_imported_file_are_followed():
    options = (
        "import argparse\n"
        "class Options:\n"
        "    def __init__(self):\n"
        "        self.parser = argparse.ArgumentParser()\n"
        "        self.parser.add_argument('--rate')\n"
        "    def gather(self):\n"
        "        return self.parser.parse_args()\n"
        "    def parse(self):\n"
        "        return self.gather()\n"
    )

    found = of("import options\nopts = options.Options().parse()\n", options=options)

    assert (found.strict, found.shown, found.place) == (True, ("rate",), "options.py:7")


def test_parser_of_imported_program_is_not_scripts():
    convert = (
        "import argparse\n"
        "def main():\n"
        "    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--rate')\n"
        "    args = read(parser)\n"
        "def read(parser):\n"
        "    return parser.parse_args()\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )

    assert of("import convert\nconvert.pictures()\n", convert=convert) is None


def test_flags_of_moxing_are_known():
    from moxing.tensorflow.utils.hyper_param_flags import GROUPS

    assert {flag.name for group in GROUPS.values() for flag in group} == MOXING
    assert of("import moxing.tensorflow as mox\n" + TF_FLAGS).accepts("variable_update")


@pytest.fixture
def job(platform):
    def put(text, dialect="modelarts", **fields):
        platform.put("s3://bucket/old/train.py", text.encode())
        entry = {"modelmaker": "model_file", "ti": "entry_point"}.get(dialect, "boot_file")
        fields = {"parameters": {"max_stepss": 300}, **fields}
        return {"dialect": dialect, "code": "s3://bucket/old", entry: "train.py", **fields}

    return put


def faults_of(platform, request):
    with pytest.raises(InvalidJob) as caught:
        platform.service.plan(request)
    return dict(caught.value.faults)


@pytest.mark.parametrize("dialect", ["modelarts", "dls", "ti"])
def test_strict_parser_refuses_an_unknown_parameter_at_submit(platform, job, dialect):
    assert faults_of(platform, job(ARGPARSE, dialect)) == {
        "parameters.max_stepss": (
            "the script defines no parameter 'max_stepss', and parse_args() (train.py:8) accepts "
            "no other. Did you mean 'max_steps'? "
            "Parameters of the script: learning-rate, m, max_steps."
        )
    }


def test_unknown_parameters_are_refused_all_at_once(platform, job):
    request = job(ARGPARSE, parameters={"a_b_c": 1, "max_steps": 2, "d_e_f": 3})

    faults = faults_of(platform, request)

    assert list(faults) == ["parameters.a_b_c", "parameters.d_e_f"]
    assert faults["parameters.a_b_c"].endswith(
        "accepts no other. Parameters of the script: learning-rate, m, max_steps."
    )


@pytest.mark.parametrize(
    ("text", "parser"),
    [(KNOWN_ONLY, "parse_known_args() (train.py:8)"), (TF_FLAGS, "tf.flags")],
    ids=["parse_known_args", "tf.flags"],
)
def test_tolerant_parser_gives_a_note(platform, job, text, parser):
    notes = platform.service.plan(job(text)).job.notes

    (note,) = [note for note in notes if note.startswith("max_stepss")]
    assert note.startswith(
        f"max_stepss: the script defines no parameter of this name, and {parser} ignores it. "
        "Did you mean 'max_steps'? Parameters of the script: "
    )


def test_arguments_of_the_service_are_never_refused(platform, job):
    platform.put("s3://bucket/data/a.csv", b"1")
    request = job(ARGPARSE, parameters={"num_gpus": 1, "rank": 0}, data_url="s3://bucket/data")

    assert platform.service.plan(request).job.notes == ()


def test_own_hyperparameters_of_ti_are_not_refused(platform, job):
    request = job(ARGPARSE, "ti", parameters={"ti_log_level": 3, "max_steps": 1})

    assert platform.service.plan(request).tasks


def test_words_of_kdl_are_looked_at(platform):
    platform.put("s3://bucket/trainer/trainer/task.py", ARGPARSE.encode())
    request = {"dialect": "kdl", "code": "s3://bucket/trainer", "module": "trainer.task"}

    faults = faults_of(platform, {**request, "job_args": "--max_steps 3 --max_stepss=300 -x"})

    assert list(faults) == ["job_args"]
    assert "no parameter 'max_stepss', and parse_args() (trainer/task.py:8)" in faults["job_args"]


def test_archive_with_an_empty_file_is_read(platform):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in (("trainer/__init__.py", ""), ("trainer/task.py", ARGPARSE)):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    platform.put("s3://bucket/trainer.tar.gz", packed.getvalue())
    request = {"dialect": "kdl", "code": "s3://bucket/trainer.tar.gz", "module": "trainer.task"}

    faults = faults_of(platform, {**request, "parameters": {"max_stepss": 3}})

    assert list(faults) == ["parameters.max_stepss"]


def test_oversized_file_gives_no_report(platform, job):
    platform.put("s3://bucket/old/large.py", b"#" * (300 << 10))

    assert platform.service.plan(job(ARGPARSE)).tasks


def test_parameter_unused_by_modelmaker_code_gives_note(platform, job):
    given = {"max_stepss": 3, "rate": 1, "batch_size": 2, "train_max_steps": 4}

    notes = platform.service.plan(job(MODELMAKER, "modelmaker", parameters=given)).job.notes

    about = [note for note in notes if "no parameter of this name" in note]
    assert len(about) == 1
    assert about[0].startswith(
        "max_stepss: the code reads no parameter of this name. Did you mean 'max_steps'? "
        "Parameters of the script: eval_start_delay_secs, "
    )


@pytest.mark.parametrize(
    "use", ["HParams(**params)", "for n in params: pass", "params.items()", "package.build(params)"]
)
def test_modelmaker_code_forwarding_parameters_gives_no_note(platform, job, use):
    text = f"{MODELMAKER}    {use}\n"

    notes = platform.service.plan(job(text, "modelmaker")).job.notes

    assert not [note for note in notes if "no parameter of this name" in note]
