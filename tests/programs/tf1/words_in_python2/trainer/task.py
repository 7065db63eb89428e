import sys

import numpy as np
import tensorflow as tf

import reader

flags = tf.app.flags
flags.DEFINE_string('data_path', '/cache/words', 'where the data is')
flags.DEFINE_integer('epochs', 10, 'epochs')
FLAGS = flags.FLAGS


def main(_):
    reader.make(FLAGS.data_path)
    pairs, vocabulary = reader.load(FLAGS.data_path)
    for word, number in sorted(vocabulary.iteritems(), key=lambda (w, n): n)[:2]:
        print 'word %d is' % number, word
    half = len(pairs) / 2
    batches = half / 20
    print >>sys.stderr, 'half', half, 'batches', batches
    ids = np.array(map(lambda p: [vocabulary[w] for w in p[0].split()], pairs))
    labels = np.array([label for _, label in pairs])

    tf.set_random_seed(0)
    words = tf.placeholder(tf.int32, [None, 3])
    targets = tf.placeholder(tf.int32, [None])
    embeddings = tf.Variable(tf.random_uniform([len(vocabulary), 8], -1.0, 1.0, seed=1))
    mean = tf.reduce_mean(tf.nn.embedding_lookup(embeddings, words), 1)
    logits = tf.contrib.layers.fully_connected(mean, 2, activation_fn=None)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits))
    train_op = tf.train.AdagradOptimizer(0.5).minimize(loss)
    hits = tf.reduce_sum(tf.to_int32(tf.nn.in_top_k(logits, targets, 1)))
    with tf.Session() as sess:
        sess.run(tf.initialize_all_variables())
        for epoch in xrange(FLAGS.epochs):
            for i in xrange(batches):
                part = slice(i * 20, (i + 1) * 20)
                _, value = sess.run([train_op, loss], {words: ids[part], targets: labels[part]})
        print 'loss', round(value, 4)
        right = sess.run(hits, {words: ids[half:], targets: labels[half:]})
        print 'right %d of %d' % (right, len(ids) - half)


if __name__ == '__main__':
    tf.app.run()
