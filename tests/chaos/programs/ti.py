"""An Estimator whose checkpoints lie where the service keeps them."""

import tensorflow as tf
from ledger import Ledger, model


def model_fn(features, labels, mode):
    weight, train_op = model()
    return tf.estimator.EstimatorSpec(
        mode, loss=-weight, train_op=train_op, training_hooks=[Ledger(weight)]
    )


def input_fn():
    return tf.data.Dataset.from_tensors(({"x": [1.0]}, [1.0])).repeat()


config = tf.estimator.RunConfig(model_dir="/opt/ml/checkpoints", save_checkpoints_steps=10)
tf.estimator.Estimator(model_fn, config=config).train(input_fn, max_steps=60)
