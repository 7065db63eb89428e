# -*- coding: utf-8 -*-
from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import os

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

tf.flags.DEFINE_integer('max_steps', 200, '训练步数')
tf.flags.DEFINE_string('data_url', '/tmp/mnist', '数据目录')
tf.flags.DEFINE_string('train_url', '/tmp/out', '模型目录')

FLAGS = tf.flags.FLAGS


def softmax(x):
    w = tf.Variable(tf.zeros([784, 10]), name='w')
    b = tf.Variable(tf.zeros([10]), name='b')
    return tf.nn.softmax(tf.matmul(x, w) + b, name='y')


def export(sess, x, y):
    builder = tf.saved_model.builder.SavedModelBuilder(os.path.join(FLAGS.train_url, 'model'))
    signature = tf.saved_model.signature_def_utils.build_signature_def(
        inputs={'images': tf.saved_model.utils.build_tensor_info(x)},
        outputs={'scores': tf.saved_model.utils.build_tensor_info(y)},
        method_name=tf.saved_model.signature_constants.PREDICT_METHOD_NAME)
    builder.add_meta_graph_and_variables(
        sess, [tf.saved_model.tag_constants.SERVING],
        signature_def_map={'predict_images': signature},
        main_op=tf.tables_initializer(),
        strip_default_attrs=True)
    builder.save()


def main(*args):
    mnist = input_data.read_data_sets(FLAGS.data_url, one_hot=True)
    print('train', mnist.train.num_examples, 'validation', mnist.validation.num_examples)
    tf.set_random_seed(0)
    sess = tf.InteractiveSession()
    serialized = tf.placeholder(tf.string, name='tf_example')
    parsed = tf.parse_example(serialized, {'x': tf.FixedLenFeature(shape=[784], dtype=tf.float32)})
    x = tf.identity(parsed['x'], name='x')
    y_ = tf.placeholder('float', shape=[None, 10])
    y = softmax(x)
    sess.run(tf.global_variables_initializer())
    cross_entropy = -tf.reduce_sum(y_ * tf.log(y + 1e-9))
    tf.summary.scalar('cross_entropy', cross_entropy)
    train_step = tf.train.GradientDescentOptimizer(0.01).minimize(cross_entropy)
    correct = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, 'float'))
    tf.summary.scalar('accuracy', accuracy)
    merged = tf.summary.merge_all()
    writer = tf.summary.FileWriter(FLAGS.train_url, flush_secs=1)
    test = {x: mnist.test.images, y_: mnist.test.labels}
    for step in range(FLAGS.max_steps):
        batch = mnist.train.next_batch(50)
        train_step.run(feed_dict={x: batch[0], y_: batch[1]})
        if step % 50 == 0:
            summary, acc = sess.run([merged, accuracy], feed_dict=test)
            writer.add_summary(summary, step)
            print('step', step, 'accuracy is:', acc)
    print('Done training! accuracy is: %.3f' % accuracy.eval(feed_dict=test))
    export(sess, x, y)
    print('Done exporting!')


if __name__ == '__main__':
    tf.app.run(main=main)
