"""A linear model, trained by as many workers as there are."""

import numpy as np
import tensorflow as tf

import moxing.tensorflow as mox
from moxing.tensorflow.executor import ops_adapter

tf.flags.DEFINE_string("data_url", None, "")
tf.flags.DEFINE_string("train_url", None, "")
tf.flags.DEFINE_integer("steps", 60, "")
flags = tf.flags.FLAGS


def input_fn(mode, **kwargs):
    x = np.random.RandomState(3).rand(48, 4).astype(np.float32)
    y = x.dot(np.array([1.0, -2.0, 0.5, 3.0], np.float32))
    mine = slice(ops_adapter.rank(), None, ops_adapter.size())
    data = tf.data.Dataset.from_tensor_slices((x[mine], y[mine])).repeat()
    return data.make_one_shot_iterator().get_next()


def model_fn(inputs, mode, **kwargs):
    x, y = inputs
    w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(x, w), 1) - y))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss})


if __name__ == "__main__":
    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.1),
        run_mode=mox.ModeKeys.TRAIN,
        batch_size=4,
        log_dir=flags.train_url,
        max_number_of_steps=flags.steps,
        log_every_n_steps=20,
        save_model_steps=20,
    )
    print("ended as", mox.get_flag("job_name"), mox.get_flag("task_index"))
