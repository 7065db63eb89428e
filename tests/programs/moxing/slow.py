"""Trains a line slowly enough to be killed, and says which steps it trained."""

import os
import signal

import tensorflow as tf
import moxing.tensorflow as mox

tf.flags.DEFINE_string('data_url', None, '')
tf.flags.DEFINE_string('train_url', None, '')
tf.flags.DEFINE_integer('die_at', 0, 'The first attempt ends itself at this step')
flags = tf.flags.FLAGS


class Death(mox.AggregativeSessionRunHook):

  def before_run(self, run_context):
    return tf.train.SessionRunArgs(tf.train.get_global_step())

  def after_run(self, run_context, run_values):
    marker = os.path.join(flags.train_url, 'died')
    if run_values.results >= flags.die_at and not os.path.exists(marker):
      open(marker, 'w').close()
      os.kill(os.getpid(), signal.SIGKILL)

  def support_aggregation(self):
    return False

  def support_sync_workers(self):
    return False

  def run_inter_mode(self):
    return False


def input_fn(mode):
  x = tf.random_uniform([])
  return x, 2 * x + 1


def model_fn(inputs, mode):
  x, y = inputs
  w = tf.get_variable('w', [])
  b = tf.get_variable('b', [])
  loss = tf.reduce_mean(tf.square(w * x + b - y))
  return mox.ModelSpec(loss=loss, log_info={'loss': loss}, hooks=[Death()])


mox.run(input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn('sgd', learning_rate=0.3),
        batch_size=8,
        run_mode=mox.ModeKeys.TRAIN,
        log_dir=flags.train_url,
        max_number_of_steps=300,
        save_model_steps=25)
