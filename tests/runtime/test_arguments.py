"""Arguments that a script does not define are reported when its parser reads them."""

import pytest

MADE = 'for name in ["learning_rate", "batch_size"]:\n    '
ARGPARSE = f"""import argparse
parser = argparse.ArgumentParser()
{MADE}parser.add_argument("--" + name)
"""
PARSERS = {
    "argparse": f"{ARGPARSE}parser.parse_args()\n",
    "absl": f"""from absl import app, flags
{MADE}flags.DEFINE_string(name, "", "")
app.run(print)
""",
    "click": f"""import click
def main(**options): pass
{MADE}main = click.option("--" + name)(main)
click.command()(main)()
""",
}
NEAR = {
    "argparse": "unrecognized arguments: --batch_sise=3 (Did you mean --batch_size?)",
    "absl": "Unknown command line flag 'batch_sise'. Did you mean: batch_size ?",
    "click": "No such option '--batch_sise'. Did you mean '--batch_size'?",
}
FAR = {
    "argparse": "unrecognized arguments: --zoom=3 (Parameters of the script: {names}.)",
    "absl": "Unknown command line flag 'zoom'. Parameters of the script: {names}.",
    "click": "No such option '--zoom'. Parameters of the script: {names}.",
}


def refused(task, script, *args):
    task.write("train.py", script)
    done = task.python("train.py", *args)
    assert done.returncode in (1, 2)
    return done.stderr


@pytest.mark.parametrize("parser", PARSERS)
def test_strict_parser_names_the_nearest_parameter(task, parser):
    assert NEAR[parser] in refused(task, PARSERS[parser], "--batch_sise=3")


@pytest.mark.parametrize("parser", PARSERS)
def test_strict_parser_lists_parameters_without_a_near_one(task, parser):
    text = FAR[parser].format(names="batch_size, learning_rate")

    assert text in refused(task, PARSERS[parser], "--zoom=3")


def test_arguments_of_the_service_get_no_advice(task):
    message = refused(task, PARSERS["argparse"], "--data_url=/in", "--batch_sise=3", "--zoom", "1")

    assert message.endswith(
        "unrecognized arguments: --data_url=/in --batch_sise=3 --zoom 1 (--batch_sise: Did you "
        "mean --batch_size? --zoom: Parameters of the script: batch_size, learning_rate.)\n"
    )


def test_tolerant_parser_writes_a_line_for_each(task):
    task.write("train.py", f"{ARGPARSE}for _ in 'ab':\n    parser.parse_known_args()\n")

    done = task.python("train.py", "--batch_sise=3", "--zoom", "1", "--num_gpus=1")

    assert done.returncode == 0
    ignored = "[danlu] parse_known_args() ignores"
    assert done.stderr.splitlines() == [
        f"{ignored} --batch_sise: no parameter of this name is defined so far. Did you mean "
        "--batch_size?",
        f"{ignored} --zoom: no parameter of this name is defined so far. Parameters of the script: "
        "batch_size, learning_rate.",
    ]


def test_flag_defined_later_is_not_reported(task):
    late = (
        "import sys\nfrom absl import flags\n"
        "flags.DEFINE_integer('early', 1, '')\n"
        "flags.FLAGS(sys.argv, known_only=True)\n"
        "flags.DEFINE_integer(\n    name='late', default=3, help='')\n"
    )
    task.write("train.py", late)

    done = task.python("train.py", "--early=2", "--late=9", "--lat=9")

    assert done.stderr.count("[danlu]") == 1
    assert "tf.flags ignores --lat: " in done.stderr


def test_fire_is_reported_before_the_function_runs(task):
    script = "import fire\nfire.Fire(lambda batch_size=1: print('trained', flush=True))\n"

    message = refused(task, script, "--batch_sise=3")

    assert "[danlu] fire ignores --batch_sise" in message
    assert "Did you mean --batch_size?" in message
