#!/usr/bin/env python
import os

import numpy as np
import tensorflow as tf
from tensorflow.contrib.session_bundle import exporter
from tensorflow.python.saved_model import builder as saved_model_builder
from tensorflow.python.saved_model import signature_constants
from tensorflow.python.saved_model import signature_def_utils
from tensorflow.python.saved_model import tag_constants
from tensorflow.python.saved_model import utils
from tensorflow.python.util import compat

flags = tf.app.flags
flags.DEFINE_integer('max_epochs', 100, 'How often the data is seen.')
flags.DEFINE_string('checkpoint_path', './checkpoint/', 'Where checkpoints go.')
flags.DEFINE_string('output_path', './tensorboard/', 'Where summaries go.')
flags.DEFINE_integer('checkpoint_period', 50, 'Epochs between checkpoints.')
flags.DEFINE_integer('model_version', 1, 'Version of the model.')
flags.DEFINE_string('model_path', './model/', 'Where the model goes.')
flags.DEFINE_float('learning_rate', 0.1, 'Learning rate at the start.')
flags.DEFINE_string('optimizer', 'sgd', 'sgd or adam.')
FLAGS = flags.FLAGS


def get_optimizer(learning_rate):
  if FLAGS.optimizer == 'sgd':
    return tf.train.GradientDescentOptimizer(learning_rate)
  return tf.train.AdamOptimizer(learning_rate)


def main(_):
  x_data = np.linspace(-1, 1, 100).reshape([-1, 1])
  y_data = 2 * x_data + 10

  X = tf.placeholder('float', shape=[None, 1], name='X')
  Y = tf.placeholder('float', shape=[None, 1])
  w = tf.get_variable('weight', [1, 1], initializer=tf.zeros_initializer)
  b = tf.get_variable('bias', [1], initializer=tf.zeros_initializer)
  predict = tf.matmul(X, w) + b
  loss = tf.reduce_mean(tf.square(Y - predict))
  global_step = tf.Variable(0, name='global_step', trainable=False)
  rate = tf.train.exponential_decay(FLAGS.learning_rate, global_step, 1000, 0.9)
  train_op = get_optimizer(rate).minimize(loss, global_step=global_step)
  tf.summary.scalar('loss', loss)
  tf.summary.scalar('training/hptuning/metric', loss)
  tf.summary.histogram('weight', w)
  summary_op = tf.summary.merge_all()
  saver = tf.train.Saver(max_to_keep=2)
  init_op = tf.global_variables_initializer()

  config = tf.ConfigProto(allow_soft_placement=True)
  config.gpu_options.allow_growth = True
  with tf.Session(config=config) as sess:
    sess.run(init_op)
    state = tf.train.get_checkpoint_state(FLAGS.checkpoint_path)
    if state and state.model_checkpoint_path:
      saver.restore(sess, state.model_checkpoint_path)
      print('Continue from step {}'.format(sess.run(global_step)))
    writer = tf.summary.FileWriter(FLAGS.output_path, sess.graph)
    for epoch in range(1, FLAGS.max_epochs + 1):
      _, summary, value, step = sess.run(
          [train_op, summary_op, loss, global_step], feed_dict={X: x_data, Y: y_data})
      writer.add_summary(summary, step)
      if epoch % FLAGS.checkpoint_period == 0:
        saver.save(sess, os.path.join(FLAGS.checkpoint_path, 'model.ckpt'), global_step=step)
        print('Epoch: {}, loss: {:.4f}'.format(epoch, value))
    writer.close()
    print('Line: {:.2f} x + {:.2f}'.format(sess.run(w)[0, 0], sess.run(b)[0]))

    old = exporter.Exporter(tf.train.Saver(sharded=True))
    old.init(
        sess.graph.as_graph_def(),
        named_graph_signatures={
            'inputs': exporter.generic_signature({'x': X}),
            'outputs': exporter.generic_signature({'y': predict}),
        })
    old.export(os.path.join(FLAGS.model_path, 'old'), tf.constant(FLAGS.model_version), sess)

    path = os.path.join(compat.as_bytes(FLAGS.model_path),
                        compat.as_bytes(str(FLAGS.model_version)))
    builder = saved_model_builder.SavedModelBuilder(path)
    signature = signature_def_utils.build_signature_def(
        inputs={'x': utils.build_tensor_info(X)},
        outputs={'y': utils.build_tensor_info(predict)},
        method_name=signature_constants.PREDICT_METHOD_NAME)
    builder.add_meta_graph_and_variables(
        sess, [tag_constants.SERVING],
        signature_def_map={signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        legacy_init_op=tf.group(tf.tables_initializer(), name='legacy_init_op'))
    builder.save()

  for folder in (str(FLAGS.model_version), 'old/%08d' % FLAGS.model_version):
    with tf.Session(graph=tf.Graph()) as sess:
      meta = tf.saved_model.loader.load(sess, ['serve'], os.path.join(FLAGS.model_path, folder))
      served = meta.signature_def['serving_default']
      answer = sess.run(served.outputs['y'].name, {served.inputs['x'].name: [[3.0]]})
      print('{} answers {:.1f}'.format(folder, answer[0, 0]))


if __name__ == '__main__':
  tf.app.run()
