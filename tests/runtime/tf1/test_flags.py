"""``tf.flags`` forgives what TensorFlow 1 forgave."""

import sys

import pytest


def define(tf):
    flags = tf.app.flags
    flags.DEFINE_integer("max_steps", 10, "how long")
    flags.DEFINE_string("log_dir", "/tmp/here", "absl has a flag of this name")
    return flags.FLAGS


def test_a_flag_nobody_defined_is_left_alone(tf, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--num_gpus=4", "--max_steps=7", "--train_url="])

    assert define(tf).max_steps == 7


def test_a_flag_of_absl_can_be_defined_by_the_script(tf, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--log_dir=/logs"])

    assert define(tf).log_dir == "/logs"


def test_a_flag_can_be_defined_twice_and_the_last_one_counts(tf, monkeypatch):
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


def test_the_program_is_run_with_what_is_left_of_its_arguments(tf, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--max_steps=7", "--not_mine=1", "rest"])
    flags, seen = define(tf), []

    with pytest.raises(SystemExit):
        tf.app.run(main=lambda argv: seen.append((flags.max_steps, argv[-1])))

    assert seen == [(7, "rest")]
