"""A model of tf.keras, trained by fit."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
xs, ys = rng.rand(3200, 64).astype("float32"), rng.randint(0, 10, 3200)
layers = tf.keras.layers
model = tf.keras.Sequential(
    [layers.Dense(64, activation="relu", input_shape=(64,)), layers.Dense(10, activation="softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(xs, ys, batch_size=32, epochs=8, verbose=0)
