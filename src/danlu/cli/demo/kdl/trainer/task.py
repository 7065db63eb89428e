"""A KDL trainer module of 2017: TensorFlow 1.x, flags, a session, summaries and checkpoints.

It was not written for current versions of TensorFlow or Python.
"""

import os

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("max_epochs", 100, "Number of times to go through the data.")
flags.DEFINE_float("learning_rate", 0.01, "Initial learning rate.")
flags.DEFINE_string("checkpoint_path", "./checkpoint/", "Where checkpoints are written.")
flags.DEFINE_string("output_path", "./tensorboard/", "Where summaries are written.")
flags.DEFINE_string("model_path", "./model/", "Where the model is written.")
flags.DEFINE_integer("model_version", 1, "Version of the model.")
FLAGS = flags.FLAGS


def make_points(seed, count):
    chance = np.random.RandomState(seed)
    x = chance.uniform(-1, 1, [count, 1]).astype(np.float)
    return x, 2 * x + 1 + chance.normal(0, 0.05, [count, 1])


def main():
    x = tf.placeholder(tf.float32, [None, 1])
    y = tf.placeholder(tf.float32, [None, 1])
    line = tf.contrib.layers.fully_connected(x, 1, activation_fn=None)
    loss = tf.reduce_mean(tf.square(line - y))
    tf.summary.scalar("loss", loss)
    step = tf.Variable(0, name="global_step", trainable=False)
    train = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(loss, global_step=step)
    summaries, saver = tf.summary.merge_all(), tf.train.Saver()

    points, held_out = make_points(1, 200), make_points(2, 50)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        writer = tf.summary.FileWriter(FLAGS.output_path, session.graph)
        for epoch in xrange(1, FLAGS.max_epochs + 1):
            feed = {x: points[0], y: points[1]}
            _, value, summary = session.run([train, loss, summaries], feed)
            writer.add_summary(summary, epoch)
            if epoch % max(FLAGS.max_epochs / 5, 1) == 0:
                print("epoch = %d, loss = %f" % (epoch, value))
        saver.save(session, os.path.join(FLAGS.checkpoint_path, "model.ckpt"), global_step=step)
        held_out_loss = session.run(loss, {x: held_out[0], y: held_out[1]})
        print("held-out loss = %f" % held_out_loss)
        tf.saved_model.simple_save(
            session,
            os.path.join(FLAGS.model_path, str(FLAGS.model_version)),
            inputs={"x": x},
            outputs={"y": line},
        )


if __name__ == "__main__":
    main()
