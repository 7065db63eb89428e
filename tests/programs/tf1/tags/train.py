"""Finds names in sentences: two LSTMs, one of them backwards, and a CRF on top."""
import numpy as np
import tensorflow as tf
from tensorflow.contrib.crf import crf_log_likelihood, viterbi_decode
from tensorflow.contrib.layers.python.layers import initializers
from tensorflow.contrib.rnn import LSTMCell

words, tags, longest = 30, 3, 8  # a name begins with a word above 19; the next word belongs to it


def sentences(random, count):
    lengths = random.randint(4, longest + 1, count)
    ids = random.randint(1, words, [count, longest])
    labels = np.zeros_like(ids)
    for row in range(count):
        for at in range(longest):
            if ids[row, at] > 19 and (at == 0 or labels[row, at - 1] != 1):
                labels[row, at] = 1
            elif at and labels[row, at - 1] == 1:
                labels[row, at] = 2
    return ids, labels, lengths


random = np.random.RandomState(0)
tf.set_random_seed(2)
inputs = tf.placeholder(tf.int32, [None, None], name='inputs')
targets = tf.placeholder(tf.int32, [None, None], name='targets')
lengths = tf.placeholder(tf.int32, [None], name='lengths')
dropout = tf.placeholder_with_default(1.0, [], name='dropout')
with tf.variable_scope('embedding'), tf.device('/cpu:0'):
    table = tf.get_variable('table', [words, 12], initializer=initializers.xavier_initializer())
    embedded = tf.nn.dropout(tf.nn.embedding_lookup(table, inputs), dropout)
with tf.variable_scope('bilstm'):
    (forward, backward), _ = tf.nn.bidirectional_dynamic_rnn(
        LSTMCell(12), LSTMCell(12), embedded, dtype=tf.float32, sequence_length=lengths)
    joined = tf.concat([forward, backward], axis=-1)
logits = tf.layers.dense(joined, tags, name='project')
likelihood, transitions = crf_log_likelihood(logits, targets, lengths)
loss = tf.reduce_mean(-likelihood)
optimizer = tf.train.AdamOptimizer(0.03)
clipped = [[tf.clip_by_value(g, -5, 5), v] for g, v in optimizer.compute_gradients(loss)]
train_op = optimizer.apply_gradients(clipped)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(150):
        x, y, n = sentences(random, 32)
        _, value = sess.run(
            [train_op, loss], {inputs: x, targets: y, lengths: n, dropout: 0.95})
        if step % 50 == 0:
            print('step %d loss %.3f' % (step, value))
    x, y, n = sentences(random, 50)
    scores, matrix = sess.run([logits, transitions], {inputs: x, lengths: n})
    right = total = 0
    for row in range(50):
        path, _ = viterbi_decode(scores[row][:n[row]], matrix)
        right += np.sum(np.array(path) == y[row][:n[row]])
        total += n[row]
    print('loss %.3f accuracy %.3f' % (value, float(right) / total))
