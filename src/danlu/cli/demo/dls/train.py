"""A DLS training script in the style of the MoXing manual: fit a plane to noisy points.

The same script runs in one process or in several.
"""

import csv
import os

import numpy as np
import tensorflow as tf

import moxing.tensorflow as mox

tf.flags.DEFINE_string("data_url", None, "where points.csv is")
tf.flags.DEFINE_string("train_url", None, "where checkpoints and the model go")
tf.flags.DEFINE_integer("max_steps", 200, "how long to train")
flags = tf.flags.FLAGS

BATCH = 50


def read_points(mode):
    """Return the training points, or the first fifth, which is used for evaluation only."""
    with mox.file.File(os.path.join(flags.data_url, "points.csv")) as f:
        rows = [[float(row[name]) for name in ("x1", "x2", "y")] for row in csv.DictReader(f)]
    points = np.array(rows, np.float32)
    held_out = len(points) // 5
    return points[held_out:] if mode == mox.ModeKeys.TRAIN else points[:held_out]


def input_fn(mode, **kwargs):
    points = read_points(mode)
    dataset = tf.data.Dataset.from_tensor_slices((points[:, :2], points[:, 2])).repeat()
    return dataset.shuffle(len(points)).make_one_shot_iterator().get_next()


def model_fn(inputs, mode, **kwargs):
    points, heights = inputs
    guess = tf.squeeze(tf.layers.dense(points, 1), 1)
    loss = tf.losses.mean_squared_error(heights, guess)
    return mox.ModelSpec(
        loss=loss,
        log_info={"loss": loss},
        export_spec=mox.ExportSpec(inputs_dict={"points": points}, outputs_dict={"guess": guess}),
    )


def main(_):
    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("momentum", learning_rate=0.1, momentum=0.9),
        run_mode=mox.ModeKeys.TRAIN,
        batch_size=BATCH,
        log_dir=flags.train_url,
        max_number_of_steps=flags.max_steps,
        log_every_n_steps=40,
        export_model=mox.ExportKeys.TF_SERVING,
    )
    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        run_mode=mox.ModeKeys.EVAL,
        batch_size=BATCH,
        log_dir=flags.train_url,
        max_number_of_steps=2,
    )


if __name__ == "__main__":
    tf.app.run()
