"""Trains under a Supervisor, is cut short and goes on from its checkpoint."""
import argparse

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument('--train_url', default='/tmp/supervised')
args, _ = parser.parse_known_args()


def train(until):
    with tf.Graph().as_default():
        tf.set_random_seed(0)
        x = tf.constant(np.linspace(0, 1, 50, dtype=np.float32))
        slope = tf.get_variable('slope', initializer=0.0)
        offset = tf.get_variable('offset', initializer=0.0)
        loss = tf.reduce_mean((slope * x + offset - (3 * x - 1)) ** 2)
        global_step = tf.train.create_global_step()
        train_op = tf.train.AdamOptimizer(0.05).minimize(loss, global_step=global_step)
        tf.summary.scalar('loss', loss)
        sv = tf.train.Supervisor(
            logdir=args.train_url, global_step=global_step, save_model_secs=600,
            save_summaries_secs=1, summary_op=tf.summary.merge_all())
        with sv.managed_session(config=tf.ConfigProto(log_device_placement=False)) as sess:
            print('begins at step', sess.run(global_step))
            step = 0
            while not sv.should_stop() and step < until:
                _, step, value = sess.run([train_op, global_step, loss])
            sv.saver.save(sess, sv.save_path, global_step=step)
            print('step %d loss %.5f' % (step, value))
            sv.request_stop()


train(until=100)
train(until=300)
