"""A generator learns to draw numbers around 4; it begins around 0."""
import numpy as np
import tensorflow as tf
from tensorflow.contrib import layers


def generator(z, reuse=False):
    with tf.variable_scope('generator', reuse=reuse):
        h = layers.fully_connected(z, 16, activation_fn=tf.nn.relu)
        return layers.fully_connected(h, 1, activation_fn=None)


def discriminator(x, reuse=False):
    with tf.variable_scope('discriminator', reuse=reuse):
        h = layers.fully_connected(
            x, 16, activation_fn=tf.nn.leaky_relu,
            weights_regularizer=layers.l2_regularizer(1e-3))
        return layers.fully_connected(h, 1, activation_fn=None)


np.random.seed(0)
tf.set_random_seed(0)
z = tf.placeholder(tf.float32, [None, 4])
real = tf.placeholder(tf.float32, [None, 1])
fake = generator(z)
real_logits = discriminator(real)
fake_logits = discriminator(fake, reuse=True)


def against(logits, labels):
    return tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=labels(logits)))


d_loss = against(real_logits, tf.ones_like) + against(fake_logits, tf.zeros_like)
d_loss += tf.losses.get_regularization_loss(scope='discriminator')
g_loss = against(fake_logits, tf.ones_like)
variables = tf.trainable_variables()
d_vars = [v for v in variables if v.name.startswith('discriminator')]
g_vars = [v for v in variables if v.name.startswith('generator')]
print('variables: %d and %d' % (len(d_vars), len(g_vars)))
d_optim = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(d_loss, var_list=d_vars)
g_optim = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(g_loss, var_list=g_vars)


def noise():
    return np.random.normal(size=[64, 4])


with tf.Session() as sess:
    tf.initialize_all_variables().run()
    print('before: mean %.2f' % sess.run(fake, {z: noise()}).mean())
    means = []
    for step in range(600):
        numbers = np.random.normal(4.0, 0.5, size=[64, 1])
        sess.run(d_optim, {real: numbers, z: noise()})
        _, drawn = sess.run([g_optim, fake], {z: noise()})
        means.append(drawn.mean())
    print('after: mean %.2f' % np.mean(means[-200:]))
