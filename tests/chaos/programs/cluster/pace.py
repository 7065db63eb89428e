"""Records every step of a training, slowly enough to be killed."""

import os
import time

import tensorflow as tf

PAUSE = float(os.environ.get("PAUSE", "0.05"))


def write_down(step, chief):
    with open(os.environ["LEDGER"], "a") as file:
        role = "chief" if chief else "other"
        file.write(f"{os.environ['DANLU_ATTEMPT']} {role} {step}\n")


class Pace(tf.train.SessionRunHook):
    def __init__(self, chief):
        self.chief = chief

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(tf.train.get_global_step())

    def after_run(self, run_context, run_values):
        write_down(run_values.results, self.chief)
        time.sleep(PAUSE)
