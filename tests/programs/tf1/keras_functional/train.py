"""tf.keras beside a session: a functional model, a callback, weights, a frozen graph."""
import os
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.keras.layers import Dense, Dropout, Input, concatenate
from tensorflow.python.keras.models import Model

K = tf.keras.backend
out = sys.argv[1].split('=', 1)[1]
random = np.random.RandomState(0)
tf.set_random_seed(0)
left, right = random.uniform(-1, 1, [2, 400, 3])
labels = tf.keras.utils.to_categorical((left.sum(1) > right.sum(1)).astype(int), 2)

a, b = Input(shape=(3,), name='left'), Input(shape=(3,), name='right')
net = Dropout(0.1)(Dense(16, activation='relu')(concatenate([a, b])))
model = Model(inputs=[a, b], outputs=Dense(2, activation='softmax', name='say')(net))
model.compile(optimizer=tf.keras.optimizers.Adam(lr=0.02), loss='categorical_crossentropy',
              metrics=['accuracy'])


class Rate(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        K.set_value(self.model.optimizer.lr, K.get_value(self.model.optimizer.lr) * 0.95)


history = model.fit(
    [left, right], labels, batch_size=40, epochs=12, validation_split=0.2, verbose=0,
    callbacks=[Rate(), tf.keras.callbacks.TensorBoard(os.path.join(out, 'logs'))])
print('history', sorted(history.history))
print('accuracy %.2f' % history.history['val_acc'][-1])
print('rate %.4f' % K.get_value(model.optimizer.lr))
model.save(os.path.join(out, 'model.h5'))

graph_def = tf.graph_util.convert_variables_to_constants(
    K.get_session(), K.get_session().graph.as_graph_def(), [model.output.op.name])
tf.train.write_graph(graph_def, out, 'frozen.pb', as_text=False)
again = tf.keras.models.load_model(os.path.join(out, 'model.h5'))
same = np.allclose(again.predict([left, right]), model.predict([left, right]), atol=1e-5)
print('eager', tf.executing_eagerly(), 'same', same)
