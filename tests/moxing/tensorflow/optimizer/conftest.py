"""Optimizers given gradients by hand, and clusters on this machine."""

import sys

import numpy as np
import pytest

START = np.array([[1.0, -2.0], [3.0, 0.5], [-1.5, 2.5]], np.float32)


@pytest.fixture(autouse=True)
def command_line(monkeypatch):
    """No flags at the start of a test; the result gives some."""
    from moxing.tensorflow.utils.hyper_param_flags import mox_flags

    def give(*argv):
        monkeypatch.setattr(sys, "argv", ["train.py", *argv])
        mox_flags.forget()

    give()
    yield give
    mox_flags.forget()


@pytest.fixture
def two_workers(command_line):
    """This process is worker 0 of two, which do not wait for each other."""
    hosts = ("--ps_hosts=h:1", "--worker_hosts=h:2,h:3")

    def be(index=0, sync=False):
        command_line(
            "--job_name=worker", f"--task_index={index}", *hosts, f"--sync_replicas={sync}"
        )

    be()
    return be


@pytest.fixture
def kinds():
    """Both kinds of variables, each with gradients of all rows and with one of them twice."""
    return [
        {"resource": resource, "rows": rows}
        for resource in (True, False)
        for rows in (None, [0, 2, 0])
    ]


class Steps:
    """Applies gradients of ones' own to a variable, and remembers it after each."""

    def __init__(self, tf, optimizer, *, resource=True, rows=None):
        self.variable = tf.Variable(START, name="w", use_resource=resource)
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False, use_resource=resource)
        self.values = tf.placeholder(tf.float32, [3, 2])
        gradient = self.values if rows is None else tf.IndexedSlices(self.values, rows, [3, 2])
        self.train = optimizer.apply_gradients([(gradient, self.variable)], self.step)
        self.session = tf.Session()
        self.session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])

    def __call__(self, *gradients):
        """Return the variable after each gradient."""
        after = []
        for gradient in gradients:
            self.session.run(self.train, {self.values: gradient})
            after.append(self.session.run(self.variable))
        return after

    @property
    def count(self):
        return self.session.run(self.step)


@pytest.fixture
def steps():
    return Steps


@pytest.fixture
def gradients():
    """Eight gradients, the same in every test."""
    return np.random.RandomState(1).normal(size=[8, 3, 2]).astype(np.float32)


@pytest.fixture
def dense():
    """Return a gradient of rows as one of the whole variable."""

    def whole(gradient, rows):
        if rows is None:
            return gradient
        total = np.zeros([3, 2], np.float32)
        np.add.at(total, rows, gradient)
        return total

    return whole
