"""One worker of the pattern that scripts for clusters use."""
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.INFO)
FLAGS = tf.flags.FLAGS
tf.flags.DEFINE_string('train_url', None, 'Where checkpoints go.')
tf.flags.DEFINE_string('job_name', 'worker', '')
tf.flags.DEFINE_integer('task_index', 0, '')
tf.flags.DEFINE_integer('steps', 150, '')


class PrintHook(tf.train.SessionRunHook):
    def __init__(self, loss):
        self.loss, self.values = loss, []

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.loss)

    def after_run(self, run_context, run_values):
        self.values.append(run_values.results)

    def end(self, session):
        print('first loss %.3f, last loss %.3f' % (self.values[0], self.values[-1]))


def main(_):
    tf.set_random_seed(0)
    random = np.random.RandomState(0)
    x = random.normal(size=[256, 4]).astype(np.float32)
    y = (x.dot([[1.0], [-2.0], [0.5], [3.0]]) > 0).astype(np.float32)
    cluster = tf.train.ClusterSpec({'worker': ['localhost:0']})
    with tf.device(tf.train.replica_device_setter(
            worker_device='/job:%s/task:%d' % (FLAGS.job_name, FLAGS.task_index), cluster=cluster)):
        data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256, seed=1).repeat().batch(32)
        iterator = data.make_initializable_iterator()
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        features, labels = iterator.get_next()
        logits = tf.layers.dense(features, 1, kernel_regularizer=tf.contrib.layers.l2_regularizer(1e-4))
        loss = tf.losses.sigmoid_cross_entropy(labels, logits)
        global_step = tf.train.get_or_create_global_step()
        rate = tf.train.piecewise_constant(global_step, [100], [0.5, 0.1])
        train_op = tf.train.MomentumOptimizer(rate, 0.9).minimize(
            tf.losses.get_total_loss(), global_step=global_step)
    hooks = [
        PrintHook(loss),
        tf.train.StopAtStepHook(last_step=FLAGS.steps),
        tf.train.NanTensorHook(loss),
        tf.train.LoggingTensorHook({'loss': loss, 'step': global_step}, every_n_iter=50),
    ]
    with tf.train.MonitoredTrainingSession(
            is_chief=FLAGS.task_index == 0, checkpoint_dir=FLAGS.train_url or tempfile.mkdtemp(),
            hooks=hooks, save_checkpoint_secs=600, log_step_count_steps=50) as session:
        while not session.should_stop():
            session.run(train_op)
    path = tf.train.latest_checkpoint(FLAGS.train_url)
    print('saved', tf.train.load_variable(path, 'global_step'))


if __name__ == '__main__':
    tf.app.run(main)
