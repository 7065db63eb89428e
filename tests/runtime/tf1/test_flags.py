"""``tf.flags`` forgives what TensorFlow 1 forgave."""

import sys

import pytest


def define(tf):
    flags = tf.app.flags
    flags.DEFINE_integer("max_steps", 10, "how long")
    flags.DEFINE_string("log_dir", "/tmp/here", "absl has a flag of this name")
    return flags.FLAGS


def test_undefined_flag_is_left_alone(tf, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--num_gpus=4", "--max_steps=7", "--train_url="])

    assert define(tf).max_steps == 7


def test_flag_accepts_argument_names_of_both_versions(tf, monkeypatch):
    argv = ["train.py", "--new_url=s3://bucket", "--old_url=/data", "--rate=0.5", "--shuffle=false"]
    monkeypatch.setattr(sys, "argv", argv)
    tf.flags.DEFINE_string(name="new_url", default=None, help="as from 1.5 on")
    tf.flags.DEFINE_string(flag_name="old_url", default_value=None, docstring="as up to 1.4")
    tf.flags.DEFINE_float("rate", 0.1, "")
    tf.flags.DEFINE_boolean("shuffle", True, "")
    flags = tf.flags.FLAGS

    assert (flags.new_url, flags.old_url) == ("s3://bucket", "/data")
    assert (flags.rate, flags.shuffle) == (0.5, False)


def test_a_list_is_given_as_text_with_commas(tf, monkeypatch):
    """MoXing manual, pitfall 2-1-2."""
    monkeypatch.setattr(sys, "argv", ["train.py", "--as_text=0,1,2", "--as_list=0,1,2"])
    tf.flags.DEFINE_string("as_text", "", "")
    tf.flags.DEFINE_list("as_list", "", "")

    assert [int(word) for word in tf.flags.FLAGS.as_text.split(",")] == [0, 1, 2]
    assert tf.flags.FLAGS.as_list == ["0", "1", "2"]


def test_flag_of_absl_can_be_defined_by_script(tf, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--log_dir=/logs"])

    assert define(tf).log_dir == "/logs"


def test_flag_defined_twice_uses_the_last(tf, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py"])
    define(tf)
    tf.flags.DEFINE_integer("max_steps", 20, "again")

    assert tf.flags.FLAGS.max_steps == 20


def test_the_private_table_of_flags_prints_values(tf, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--max_steps=7"])
    flags = define(tf)
    flags._parse_flags()

    shown = {name: f"{value}" for name, value in flags.__flags.items()}

    assert shown["max_steps"] == "7"
    assert flags.__flags["max_steps"].value == 7


def test_program_gets_its_remaining_arguments(tf, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--max_steps=7", "--not_mine=1", "rest"])
    flags, seen = define(tf), []

    with pytest.raises(SystemExit):
        tf.app.run(main=lambda argv: seen.append((flags.max_steps, argv[-1])))

    assert seen == [(7, "rest")]


def test_flag_defined_after_first_read_gets_its_argument(tf, monkeypatch):
    argv = ["train.py", "--max_steps", "7", "--late_rate", "0.5", "--nolate_shuffle"]
    monkeypatch.setattr(sys, "argv", argv)
    flags = define(tf)
    assert flags.max_steps == 7
    flags.max_steps = 8

    tf.app.flags.DEFINE_float("late_rate", 0.1, "defined late")
    tf.app.flags.DEFINE_boolean("late_shuffle", True, "defined late")
    tf.app.flags.DEFINE_integer("late_size", 3, "not given")

    assert (flags.late_rate, flags.late_shuffle, flags.late_size) == (0.5, False, 3)
    assert flags.max_steps == 8


def test_a_flag_defined_in_main_gets_its_argument(tf, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--max_steps=7", "--late_size=5"])
    flags, seen = define(tf), []

    def main(_):
        tf.app.flags.DEFINE_integer("late_size", 3, "defined late")
        seen.append(flags.late_size)

    with pytest.raises(SystemExit):
        tf.app.run(main=main)

    assert seen == [5]


def test_invalid_late_flag_raises_error_of_absl(tf, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--late_size=many"])
    assert define(tf).max_steps == 10

    with pytest.raises(tf.compat.v1.flags.IllegalFlagValueError):
        tf.app.flags.DEFINE_integer("late_size", 3, "defined late")


def test_misspelt_flag_is_reported_once_after_parsing(tf, monkeypatch, capfd):
    argv = ["train.py", "--max_stepss=7", "--num_gpus=1", "--unlike=3", "--max_steps=5"]
    monkeypatch.setattr(sys, "argv", argv)
    flags = define(tf)
    tf.app.flags.DEFINE_integer("num_gpu", 1, "near the argument of a service")

    assert flags.max_steps == 5
    with pytest.raises(SystemExit):
        tf.app.run(main=lambda argv: None)

    assert [line for line in capfd.readouterr().err.splitlines() if "[danlu]" in line] == [
        "[danlu] tf.flags ignores --max_stepss: no parameter of this name is defined so far. "
        "Did you mean --max_steps?",
        "[danlu] tf.flags ignores --unlike: no parameter of this name is defined so far. "
        "Parameters of the script: log_dir, max_steps, num_gpu.",
    ]


def test_an_assignment_defines_flag(tf, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py"])
    flags = define(tf)
    flags.words = 5
    flags.max_steps = 3

    assert (flags.words, flags.max_steps, flags.__flags["words"].value) == (5, 3, 5)


def test_default_may_be_number_of_numpy(tf, monkeypatch):
    import numpy as np

    monkeypatch.setattr(sys, "argv", ["train.py"])
    tf.flags.DEFINE_integer("n", np.power(2, 7), "")
    tf.flags.DEFINE_float("rate", np.float32(0.5), "")

    assert (tf.flags.FLAGS.n, tf.flags.FLAGS.rate) == (128, 0.5)


@pytest.mark.parametrize(("version", "kind"), [("1.4", int), ("1.5", float), ("1.15.5", float)])
def test_float_flag_keeps_int_before_absl(tf, monkeypatch, version, kind):
    from danlu_runtime.tf1 import flags

    monkeypatch.setenv("DANLU_TENSORFLOW", version)
    monkeypatch.setattr(sys, "argv", ["train.py"])
    flags._accept_defaults()
    tf.flags.DEFINE_float("size", 20, "")

    assert type(tf.flags.FLAGS.size) is kind
