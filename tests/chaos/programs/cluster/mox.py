"""mox.run with synchronous workers."""

import tensorflow as tf
from pace import Pace

import moxing.tensorflow as mox

tf.flags.DEFINE_string("data_url", None, "")
tf.flags.DEFINE_string("train_url", None, "")
tf.flags.DEFINE_integer("steps", 60, "")
tf.flags.DEFINE_integer("interval", 10, "")
flags = tf.flags.FLAGS


def input_fn(mode, **kwargs):
    x = tf.random_uniform([4], seed=1)
    return x, tf.reduce_sum(x)


def model_fn(inputs, mode, **kwargs):
    x, y = inputs
    guess = tf.squeeze(tf.layers.dense(x, 1), 1)
    loss = tf.reduce_mean(tf.square(guess - y))
    chief = not mox.get_flag("task_index")
    return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[Pace(chief)])


mox.run(
    input_fn=input_fn,
    model_fn=model_fn,
    optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.1),
    run_mode=mox.ModeKeys.TRAIN,
    batch_size=4,
    log_dir=flags.train_url,
    max_number_of_steps=flags.steps,
    save_model_steps=flags.interval,
)
