"""Keras as a package of its own, above TensorFlow."""
import argparse

import keras
import numpy as np
from keras import backend as K
from keras.callbacks import EarlyStopping, ModelCheckpoint
from keras.layers import Activation, Conv2D, Dense, Flatten, MaxPooling2D
from keras.layers.normalization import BatchNormalization
from keras.models import Sequential, load_model
from keras.optimizers import SGD
from keras.utils import np_utils

parser = argparse.ArgumentParser()
parser.add_argument('--train_url', type=str)
args, unknown = parser.parse_known_args()

if K.backend() == 'tensorflow':
    import tensorflow as tf
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    tf.set_random_seed(0)
    K.set_session(tf.Session(config=config))

random = np.random.RandomState(0)
y = random.randint(0, 3, 300)
x = random.uniform(0, 0.5, [300, 9, 9, 1])
for image, label in zip(x, y):
    image[label * 3:label * 3 + 3] += 1.0
y = np_utils.to_categorical(y, 3)

model = Sequential()
model.add(Conv2D(8, (3, 3), input_shape=(9, 9, 1), kernel_initializer='he_normal'))
model.add(BatchNormalization(axis=-1))
model.add(Activation('relu'))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Flatten())
model.add(Dense(3, activation='softmax'))
model.compile(loss='categorical_crossentropy', metrics=['accuracy'],
              optimizer=SGD(lr=0.05, momentum=0.9, decay=1e-4, nesterov=True))
path = args.train_url + '/best.h5'
model.fit(x[:240], y[:240], batch_size=30, epochs=6, verbose=2, validation_data=(x[240:], y[240:]),
          callbacks=[ModelCheckpoint(path, monitor='val_acc', save_best_only=True),
                     EarlyStopping(monitor='val_loss', patience=5)])
loss, accuracy = load_model(path).evaluate(x[240:], y[240:], verbose=0)
print('keras', keras.__version__, 'accuracy %.2f' % accuracy)
