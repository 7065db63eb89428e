"""TensorFlow's own lines in a log."""

import sys

import pytest


def test_a_line_is_printed_once_inside_app_run(tf, monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["train.py"])
    tf.logging.set_verbosity(tf.logging.INFO)

    with pytest.raises(SystemExit):
        tf.app.run(main=lambda _: tf.logging.info("saved as model.ckpt"))

    assert capfd.readouterr().err.count("saved as model.ckpt") == 1
