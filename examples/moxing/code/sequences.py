"""A Keras model of two inputs: trained, kept as JSON, built again from it and evaluated."""

import tensorflow as tf
from tensorflow.python.keras.layers import LSTM, Dense, Embedding, Input, concatenate
from tensorflow.python.keras.losses import binary_crossentropy
from tensorflow.python.keras.models import Model, model_from_json

import moxing.tensorflow as mox

tf.flags.DEFINE_string("train_url", "obs://models/sequences", "Where the model goes")
tf.flags.DEFINE_integer("steps", 200, "")
flags = tf.flags.FLAGS

WORDS, LENGTH, BATCH = 20, 8, 32


def input_fn(mode, **kwargs):
    words = tf.random_uniform([LENGTH], maxval=WORDS, dtype=tf.int32)
    mood = tf.random_normal([2])
    # What is to be learned needs both: which words there are, and the mood they are said in.
    high = tf.reduce_mean(tf.to_float(words)) / WORDS - 0.5
    label = tf.to_float(4.0 * high + mood[0] > 0.0)
    return words, mood, tf.reshape(label, [1])


def core(words, mood):
    read = LSTM(16)(Embedding(WORDS, 8)(words))
    hidden = Dense(32, activation="relu")(concatenate([read, mood]))
    return Dense(1, activation="sigmoid")(hidden)


def spec(output, labels):
    loss = tf.reduce_mean(binary_crossentropy(labels, output))
    right = tf.equal(output > 0.5, labels > 0.5)
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss, "accuracy": accuracy})


def model_fn(inputs, mode, **kwargs):
    words, mood, labels = inputs
    return spec(core(words, mood), labels)


def keep(path):
    words, mood = Input(shape=(LENGTH,)), Input(shape=(2,))
    with mox.file.File(path, "w") as f:
        f.write(Model(inputs=[words, mood], outputs=core(words, mood)).to_json())


def reloaded_model_fn(inputs, mode, **kwargs):
    words, mood, labels = inputs
    model = model_from_json(mox.file.read(flags.train_url + "/model.json"))
    return spec(model([words, mood]), labels)


if __name__ == "__main__":
    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("rmsprop", learning_rate=0.01),
        run_mode=mox.ModeKeys.TRAIN,
        batch_size=BATCH,
        log_dir=flags.train_url,
        max_number_of_steps=flags.steps,
        log_every_n_steps=50,
    )
    keep(flags.train_url + "/model.json")
    mox.run(
        input_fn=input_fn,
        model_fn=reloaded_model_fn,
        run_mode=mox.ModeKeys.EVAL,
        batch_size=BATCH,
        checkpoint_path=flags.train_url,
        max_number_of_steps=20,
    )
