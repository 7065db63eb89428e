import numpy as np
import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.contrib.slim.nets import resnet_utils
from tensorflow.contrib.slim.nets import resnet_v1

tf.app.flags.DEFINE_string('train_url', '/tmp/resnet', 'Where checkpoints go.')
tf.app.flags.DEFINE_integer('steps', 40, 'Number of steps.')
FLAGS = tf.app.flags.FLAGS


def stripes(count, seed):
    """Images with stripes across, or down."""
    random = np.random.RandomState(seed)
    labels = random.randint(0, 2, count)
    lines = np.tile(np.arange(32) // 4 % 2, [32, 1]).astype(np.float32)
    images = np.stack([lines if label else lines.T for label in labels])[..., None]
    return images + random.normal(0, 0.2, images.shape).astype(np.float32), labels


def network(images, is_training):
    blocks = [
        resnet_v1.resnet_v1_block('block1', base_depth=8, num_units=1, stride=2),
        resnet_v1.resnet_v1_block('block2', base_depth=16, num_units=1, stride=1),
    ]
    with slim.arg_scope(resnet_utils.resnet_arg_scope(batch_norm_decay=0.8)):
        net, end_points = resnet_v1.resnet_v1(
            images, blocks, num_classes=2, is_training=is_training,
            global_pool=True, include_root_block=True, scope='resnet')
    return tf.squeeze(net, [1, 2]), end_points


def main(_):
    tf.set_random_seed(3)
    images, labels = stripes(200, seed=0)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(200).repeat().batch(16)
    batch, targets = dataset.make_one_shot_iterator().get_next()
    logits, end_points = network(batch, is_training=True)
    print('end points', len(end_points), 'variables', len(slim.get_model_variables()))
    slim.losses.softmax_cross_entropy(logits, slim.one_hot_encoding(targets, 2))
    total_loss = slim.losses.get_total_loss()
    tf.summary.scalar('losses/total_loss', total_loss)
    optimizer = tf.train.MomentumOptimizer(0.02, 0.9)
    train_op = slim.learning.create_train_op(total_loss, optimizer)
    last = slim.learning.train(
        train_op, FLAGS.train_url, number_of_steps=FLAGS.steps,
        save_summaries_secs=1, log_every_n_steps=20)
    print('last loss %.3f' % last)

    with tf.Graph().as_default():
        images, labels = stripes(64, seed=1)
        logits, _ = network(tf.constant(images), is_training=False)
        names_to_values, names_to_updates = slim.metrics.aggregate_metric_map({
            'accuracy': slim.metrics.streaming_accuracy(tf.argmax(logits, 1), labels),
        })
        values = slim.evaluation.evaluate_once(
            '', tf.train.latest_checkpoint(FLAGS.train_url), FLAGS.train_url,
            num_evals=1, eval_op=list(names_to_updates.values()),
            final_op=list(names_to_values.values()))
        print('test accuracy %.2f' % values[0])


if __name__ == '__main__':
    tf.app.run()
