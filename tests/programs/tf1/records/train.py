"""Reads TFRecord files through queues, as tutorials of 2016 do."""
import os

import numpy as np
import tensorflow as tf

flags = tf.flags
flags.DEFINE_string('data_url', '/cache/records', '')
flags.DEFINE_string('train_url', '/cache/out', '')
FLAGS = flags.FLAGS


def write_records(path, seed):
    random = np.random.RandomState(seed)
    writer = tf.python_io.TFRecordWriter(path)
    for _ in range(100):
        label = random.randint(3)
        pixels = random.randint(0, 40, [8, 8]).astype(np.uint8)
        pixels[label * 2] += 200
        feature = {
            'image': tf.train.Feature(bytes_list=tf.train.BytesList(value=[pixels.tobytes()])),
            'label': tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
        }
        example = tf.train.Example(features=tf.train.Features(feature=feature))
        writer.write(example.SerializeToString())
    writer.close()


def inputs(paths, batch_size, num_epochs):
    files = tf.train.string_input_producer(paths, num_epochs=num_epochs)
    reader = tf.TFRecordReader()
    _, serialized = reader.read(files)
    features = tf.parse_single_example(serialized, features={
        'image': tf.FixedLenFeature([], tf.string),
        'label': tf.FixedLenFeature([], tf.int64),
    })
    image = tf.reshape(tf.decode_raw(features['image'], tf.uint8), [64])
    image = tf.cast(image, tf.float32) * (1. / 255) - 0.5
    label = tf.cast(features['label'], tf.int32)
    return tf.train.shuffle_batch(
        [image, label], batch_size=batch_size, num_threads=2,
        capacity=200 + 3 * batch_size, min_after_dequeue=100)


def main(_):
    tf.set_random_seed(0)
    paths = [os.path.join(FLAGS.train_url, 'part-%d.tfrecords' % i) for i in range(2)]
    for seed, path in enumerate(paths):
        write_records(path, seed)
    images, labels = inputs(paths, batch_size=20, num_epochs=10)
    logits = tf.layers.dense(tf.layers.dense(images, 16, tf.nn.relu), 3)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    correct = tf.nn.in_top_k(logits, labels, 1)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    train_op = tf.train.AdamOptimizer(0.01).minimize(loss)
    init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
    with tf.Session() as sess:
        sess.run(init)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        step, last = 0, []
        try:
            while not coord.should_stop():
                _, value, acc = sess.run([train_op, loss, accuracy])
                step += 1
                last = last[-9:] + [acc]
        except tf.errors.OutOfRangeError:
            print('Done training for %d steps, loss %.3f' % (step, value))
        finally:
            coord.request_stop()
        coord.join(threads)
    print('accuracy of the last ten batches %.2f' % (sum(last) / len(last)))


if __name__ == '__main__':
    tf.app.run()
