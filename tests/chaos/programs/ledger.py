"""Writes down every step that was trained, where no attempt can change what another wrote."""

import os
import signal
import time

import tensorflow as tf


def write(*words):
    with open(os.environ["LEDGER"], "a") as ledger:
        ledger.write(" ".join(map(str, words)) + "\n")


def passed(step):
    write("step", os.environ["DANLU_ATTEMPT"], step, os.getpid())
    if str(step) == os.environ.get("KILLED_AT"):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)


class Ledger(tf.train.SessionRunHook):
    def __init__(self, weight):
        self.weight = weight

    def after_run(self, run_context, run_values):
        passed(run_context.session.run(tf.train.get_global_step()))

    def end(self, session):
        write("end", repr(float(session.run(self.weight))))


def model():
    """Return the weight and its training: it grows by a momentum that must be restored too."""
    weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
    step = tf.train.get_or_create_global_step()
    return weight, tf.train.MomentumOptimizer(1.0, 0.5).minimize(-weight, global_step=step)
