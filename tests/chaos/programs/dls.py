"""mox.run with a log_dir in train_url."""

import tensorflow as tf
from ledger import Ledger

import moxing.tensorflow as mox

tf.flags.DEFINE_string("data_url", None, "")
tf.flags.DEFINE_string("train_url", None, "")


class Steps(Ledger, mox.AggregativeSessionRunHook):
    def support_aggregation(self):
        return False

    def support_sync_workers(self):
        return False

    def run_inter_mode(self):
        return False


def input_fn(mode):
    return tf.ones([])


def model_fn(inputs, mode):
    weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
    return mox.ModelSpec(loss=tf.reduce_mean(-weight * inputs), hooks=[Steps(weight)])


mox.run(
    input_fn=input_fn,
    model_fn=model_fn,
    optimizer_fn=mox.get_optimizer_fn("momentum", learning_rate=1.0, momentum=0.5),
    batch_size=4,
    run_mode=mox.ModeKeys.TRAIN,
    log_dir=tf.flags.FLAGS.train_url,
    max_number_of_steps=60,
    save_model_steps=10,
)
