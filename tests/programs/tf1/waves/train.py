"""Predicts the next value of a wave: stacked LSTM cells, dropout, clipped gradients."""
import numpy as np
import tensorflow as tf

num_steps, batch_size, hidden = 20, 32, 24


class Model(object):
    def __init__(self, is_training):
        self.inputs = tf.placeholder(tf.float32, [batch_size, num_steps, 1])
        self.targets = tf.placeholder(tf.float32, [batch_size, 1])

        def cell():
            lstm = tf.nn.rnn_cell.BasicLSTMCell(hidden, forget_bias=1.0, state_is_tuple=True)
            if is_training:
                lstm = tf.contrib.rnn.DropoutWrapper(lstm, output_keep_prob=0.95)
            return lstm

        cells = tf.contrib.rnn.MultiRNNCell([cell() for _ in range(2)], state_is_tuple=True)
        self.initial_state = cells.zero_state(batch_size, tf.float32)
        outputs, self.state = tf.nn.dynamic_rnn(
            cells, self.inputs, initial_state=self.initial_state)
        self.predictions = tf.contrib.layers.fully_connected(
            outputs[:, -1], 1, activation_fn=None, scope='say')
        self.loss = tf.losses.mean_squared_error(self.targets, self.predictions)
        if is_training:
            variables = tf.trainable_variables()
            grads, _ = tf.clip_by_global_norm(tf.gradients(self.loss, variables), 5.0)
            self.train_op = tf.train.AdamOptimizer(0.01).apply_gradients(zip(grads, variables))


def waves(random):
    start = random.uniform(0, 2 * np.pi, [batch_size, 1])
    values = np.sin(start + 0.4 * np.arange(num_steps + 1))[..., None]
    return values[:, :-1], values[:, -1]


def main():
    random = np.random.RandomState(0)
    tf.set_random_seed(1)
    with tf.variable_scope('model', reuse=None):
        train = Model(is_training=True)
    with tf.variable_scope('model', reuse=True):
        test = Model(is_training=False)
    for variable in tf.trainable_variables():
        print(variable.name, variable.shape)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(120):
            x, y = waves(random)
            loss, _ = session.run([train.loss, train.train_op], {train.inputs: x, train.targets: y})
            if step % 40 == 0:
                print('step %d loss %.4f' % (step, loss))
        x, y = waves(random)
        print('test loss %.4f' % session.run(test.loss, {test.inputs: x, test.targets: y}))


if __name__ == '__main__':
    main()
