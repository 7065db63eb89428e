"""An Estimator that learns its part from TF_CONFIG."""

import json
import os

import tensorflow as tf

from trainer.pace import Pace

tf.app.flags.DEFINE_string("checkpoint_path", "", "")
tf.app.flags.DEFINE_integer("steps", 60, "")
tf.app.flags.DEFINE_integer("interval", 10, "")
FLAGS = tf.app.flags.FLAGS


def batches():
    x = [[value / 32.0] for value in range(-32, 32)]
    y = [2 * value[0] + 1 for value in x]
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).shuffle(64).repeat().batch(16)


def model_fn(features, labels, mode):
    y = tf.layers.dense(features["x"], 1)[:, 0]
    loss = tf.losses.mean_squared_error(labels, y)
    train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    chief = json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "master"
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, training_hooks=[Pace(chief)])


def main():
    config = tf.estimator.RunConfig(
        model_dir=FLAGS.checkpoint_path, save_checkpoints_steps=FLAGS.interval
    )
    tf.estimator.train_and_evaluate(
        tf.estimator.Estimator(model_fn, config=config),
        tf.estimator.TrainSpec(batches, max_steps=FLAGS.steps),
        tf.estimator.EvalSpec(batches, steps=1, throttle_secs=100000),
    )


main()
