"""A session of its own, and checkpoints in the store, as in the manual of KDL."""

import os

import tensorflow as tf

from trainer.ledger import model, passed, write

flags = tf.app.flags
flags.DEFINE_string("checkpoint_path", "./checkpoint/", "Where checkpoints go.")
flags.DEFINE_integer("checkpoint_period", 10, "Steps between checkpoints.")
flags.DEFINE_integer("max_steps", 60, "When to end.")
FLAGS = flags.FLAGS


def main(_):
    weight, train_op = model()
    global_step = tf.train.get_global_step()
    saver = tf.train.Saver(max_to_keep=3)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        state = tf.train.get_checkpoint_state(FLAGS.checkpoint_path)
        if state and state.model_checkpoint_path:
            saver.restore(sess, state.model_checkpoint_path)
        step = sess.run(global_step)
        while step < FLAGS.max_steps:
            sess.run(train_op)
            step = sess.run(global_step)
            passed(step)
            if step % FLAGS.checkpoint_period == 0:
                saver.save(sess, os.path.join(FLAGS.checkpoint_path, "model.ckpt"), step)
        write("end", repr(float(sess.run(weight))))


if __name__ == "__main__":
    tf.app.run()
