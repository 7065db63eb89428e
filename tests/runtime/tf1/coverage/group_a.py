"""A call of every symbol of slim, framework, metrics and training that public scripts use."""

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np


def _run(tf: Any, value: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(value)


def slim(tf: Any) -> None:
    slim = tf.contrib.slim
    assert slim.learning.train.__name__ == "train"
    assert _run(tf, slim.softmax(tf.zeros([1, 2]))).tolist() == [[0.5, 0.5]]


def private_slim(tf: Any) -> None:
    from tensorflow.contrib.slim.python.slim import learning
    from tensorflow.contrib.slim.python.slim.data import dataset

    assert learning.create_train_op is tf.contrib.slim.learning.create_train_op
    assert dataset.Dataset is tf.contrib.slim.dataset.Dataset


def arg_scope(tf: Any) -> None:
    slim = tf.contrib.slim
    ones = tf.ones_initializer()
    with slim.arg_scope([slim.fully_connected], activation_fn=None, weights_initializer=ones):
        out = slim.fully_connected(tf.constant([[-2.0, -3.0]]), 1)
    assert _run(tf, out).tolist() == [[-5]]


def one_hot_encoding(tf: Any) -> None:
    hot = tf.contrib.slim.one_hot_encoding(tf.constant([1, 0]), 2)
    assert _run(tf, hot).tolist() == [[0, 1], [1, 0]]


def slim_batch_norm(tf: Any) -> None:
    slim = tf.contrib.slim
    image = tf.random_normal([8, 4, 4, 2], mean=3.0, seed=1)
    out = slim.batch_norm(image, is_training=True, scale=True, scope="bn")
    assert abs(_run(tf, out).mean()) < 1e-5
    assert [v.op.name for v in slim.get_model_variables()] == [
        "bn/gamma",
        "bn/beta",
        "bn/moving_mean",
        "bn/moving_variance",
    ]


def slim_conv2d(tf: Any) -> None:
    slim = tf.contrib.slim
    out = slim.conv2d(
        tf.ones([1, 2, 2, 1]), 3, [1, 1], weights_regularizer=slim.l2_regularizer(0.1)
    )
    assert out.shape.as_list() == [1, 2, 2, 3]
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1


def slim_fully_connected(tf: Any) -> None:
    out = tf.contrib.slim.fully_connected(
        tf.constant([[1.0, 2.0]]), 1, weights_initializer=tf.ones_initializer()
    )
    assert _run(tf, out).tolist() == [[3]]


def slim_max_pool2d(tf: Any) -> None:
    image = tf.reshape(tf.range(4.0), [1, 2, 2, 1])
    assert _run(tf, tf.contrib.slim.max_pool2d(image, [2, 2])).ravel().tolist() == [3]


def slim_dropout(tf: Any) -> None:
    same = tf.contrib.slim.dropout(tf.ones([3]), 0.5, is_training=False)
    assert _run(tf, same).tolist() == [1, 1, 1]


def slim_flatten(tf: Any) -> None:
    assert tf.contrib.slim.flatten(tf.zeros([2, 2, 2])).shape.as_list() == [2, 4]


def slim_l2_regularizer(tf: Any) -> None:
    assert _run(tf, tf.contrib.slim.l2_regularizer(0.5)(tf.constant([2.0]))) == 1.0


def softmax_cross_entropy(tf: Any) -> None:
    loss = tf.contrib.slim.losses.softmax_cross_entropy(tf.zeros([1, 2]), tf.constant([[1.0, 0.0]]))
    assert np.isclose(_run(tf, loss), np.log(2))
    assert tf.contrib.slim.losses.get_losses() == [loss]


def variables(tf: Any) -> None:
    slim = tf.contrib.slim
    model = slim.model_variable("model", shape=[1])
    other = slim.variable("other", shape=[1], trainable=False)
    assert slim.get_model_variables() == [model]
    assert slim.get_variables() == [model, other]
    assert slim.get_variables_to_restore(exclude=["model"]) == [other]
    assert tf.contrib.framework.get_variables_to_restore(include=["model"]) == [model]


def tensor_handler(tf: Any) -> None:
    decoder = tf.contrib.slim.tfexample_decoder
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
    example = tf.train.Example(features=tf.train.Features(feature={"x": feature}))
    found = decoder.TFExampleDecoder(
        {"x": tf.FixedLenFeature([2], tf.int64)}, {"both": decoder.Tensor("x")}
    ).decode(tf.constant(example.SerializeToString()), ["both"])
    assert _run(tf, found)[0].tolist() == [1, 2]


def data_provider(tf: Any) -> None:
    slim = tf.contrib.slim
    path = os.path.join(tempfile.mkdtemp(), "data.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
        example = tf.train.Example(features=tf.train.Features(feature={"label": feature}))
        writer.write(example.SerializeToString())
    decoder = slim.tfexample_decoder.TFExampleDecoder(
        {"label": tf.FixedLenFeature([], tf.int64)},
        {"label": slim.tfexample_decoder.Tensor("label")},
    )
    dataset = slim.dataset.Dataset(path, tf.TFRecordReader, decoder, 1, {"label": "a number"})
    provider = slim.dataset_data_provider.DatasetDataProvider(dataset, shuffle=False)
    (label,) = provider.get(["label"])
    with tf.Session() as session, slim.queues.QueueRunners(session):
        assert session.run(label) == 7


def _net(tf: Any, name: str, image: Any, **more: Any) -> Any:
    module = getattr(tf.contrib.slim.nets, name)
    with tf.contrib.slim.arg_scope(module.resnet_arg_scope()):
        return getattr(module, f"{name}_50")(image, num_classes=5, is_training=False, **more)


def resnet_v1(tf: Any) -> None:
    net, ends = _net(tf, "resnet_v1", tf.zeros([1, 32, 32, 3]))
    assert net.shape.as_list() == [1, 1, 1, 5]
    assert ends["predictions"].shape.as_list() == [1, 1, 1, 5]


def resnet_v2(tf: Any) -> None:
    net, ends = _net(tf, "resnet_v2", tf.zeros([1, 32, 32, 3]), spatial_squeeze=True)
    assert net.shape.as_list() == [1, 5]
    assert ends["predictions"].shape.as_list() == [1, 5]


def inception_v3(tf: Any) -> None:
    from tensorflow.contrib.slim.python.slim.nets import inception_v3

    with tf.contrib.slim.arg_scope(inception_v3.inception_v3_arg_scope()):
        logits, _ = inception_v3.inception_v3(tf.zeros([1, 139, 139, 3]), 4, is_training=False)
    assert logits.shape.as_list() == [1, 4]


def global_step(tf: Any) -> None:
    step = tf.contrib.framework.get_or_create_global_step()
    assert tf.contrib.framework.get_global_step() is step
    assert step.op.name == "global_step"
    assert _run(tf, step) == 0


def local_variable(tf: Any) -> None:
    made = tf.contrib.framework.local_variable(3.0, name="here")
    assert tf.local_variables() == [made]
    assert tf.global_variables() == []
    assert _run(tf, made) == 3.0


def checkpoint(tf: Any) -> None:
    folder = tempfile.mkdtemp()
    tf.get_variable("w", initializer=[1.0, 2.0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, os.path.join(folder, "model.ckpt"))
    assert tf.contrib.framework.list_variables(folder) == [("w", [2])]
    assert tf.contrib.framework.load_variable(folder, "w:0").tolist() == [1, 2]


def hparams(tf: Any) -> None:
    assert tf.contrib.training.HParams(rate=0.1).parse("rate=2").rate == 2.0


def private_training(tf: Any) -> None:
    from tensorflow.contrib.training.python.training import evaluation, hparam

    assert hparam.HParams is tf.contrib.training.HParams
    assert evaluation.checkpoints_iterator is tf.contrib.training.checkpoints_iterator


def metrics(tf: Any) -> None:
    values, updates = tf.contrib.metrics.aggregate_metric_map(
        {
            "accuracy": tf.contrib.metrics.streaming_accuracy([1, 0], [1, 1]),
            "off": tf.contrib.metrics.streaming_mean_absolute_error([1.0, 4.0], [1.0, 2.0]),
        }
    )
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(list(updates.values()))
        assert session.run(values) == {"accuracy": 0.5, "off": 1.0}


def measured(name: str, expected: float, *args: Any, **kwargs: Any) -> Callable[[Any], None]:
    """Return the call of a streaming metric, fed once, that has to give ``expected``."""

    def call(tf: Any) -> None:
        tensors = [tf.constant(each) for each in args]
        value, update = getattr(tf.contrib.metrics, name)(*tensors, **kwargs)
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            session.run(update)
            assert np.isclose(session.run(value), expected, atol=1e-3)

    return call


_GUESSES, _TRUTH = [True, True, False, False, True], [True, False, True, False, True]
_SCORES = np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3]], np.float32)
_LABELS = np.array([[2], [0]], np.int64)
_M = "tf.contrib.metrics"
CALLS = {
    "tf.contrib.slim": slim,
    "tf.contrib.slim.python.slim": private_slim,
    "tf.contrib.slim.arg_scope": arg_scope,
    "tf.contrib.slim.one_hot_encoding": one_hot_encoding,
    "tf.contrib.slim.batch_norm": slim_batch_norm,
    "tf.contrib.slim.conv2d": slim_conv2d,
    "tf.contrib.slim.fully_connected": slim_fully_connected,
    "tf.contrib.slim.max_pool2d": slim_max_pool2d,
    "tf.contrib.slim.dropout": slim_dropout,
    "tf.contrib.slim.flatten": slim_flatten,
    "tf.contrib.slim.l2_regularizer": slim_l2_regularizer,
    "tf.contrib.slim.losses.softmax_cross_entropy": softmax_cross_entropy,
    "tf.contrib.slim.model_variable": variables,
    "tf.contrib.slim.variable": variables,
    "tf.contrib.slim.get_variables_to_restore": variables,
    "tf.contrib.framework.get_variables_to_restore": variables,
    "tf.contrib.slim.tfexample_decoder.Tensor": tensor_handler,
    "tf.contrib.slim.dataset_data_provider": data_provider,
    "tf.contrib.slim.dataset_data_provider.DatasetDataProvider": data_provider,
    "tf.contrib.slim.nets.resnet_v1": resnet_v1,
    "tf.contrib.slim.nets.resnet_v2": resnet_v2,
    "tf.contrib.slim.python.slim.nets.inception_v3": inception_v3,
    "tf.contrib.framework.get_or_create_global_step": global_step,
    "tf.contrib.framework.get_global_step": global_step,
    "tf.contrib.framework.local_variable": local_variable,
    "tf.contrib.framework.list_variables": checkpoint,
    "tf.contrib.framework.load_variable": checkpoint,
    "tf.contrib.training.HParams": hparams,
    "tf.contrib.training.python.training": private_training,
    "tf.contrib.training.python.training.hparam": private_training,
    "tf.contrib.training.python.training.evaluation": private_training,
    _M: metrics,
    f"{_M}.aggregate_metric_map": metrics,
    f"{_M}.streaming_accuracy": metrics,
    f"{_M}.streaming_mean_absolute_error": metrics,
    f"{_M}.streaming_auc": measured("streaming_auc", 0.75, [0.1, 0.9, 0.3, 0.4], [0, 1, 1, 0]),
    f"{_M}.streaming_true_positives": measured("streaming_true_positives", 2, _GUESSES, _TRUTH),
    f"{_M}.streaming_true_negatives": measured("streaming_true_negatives", 1, _GUESSES, _TRUTH),
    f"{_M}.streaming_false_positives": measured("streaming_false_positives", 1, _GUESSES, _TRUTH),
    f"{_M}.streaming_false_negatives": measured("streaming_false_negatives", 1, _GUESSES, _TRUTH),
    f"{_M}.streaming_precision": measured("streaming_precision", 2 / 3, _GUESSES, _TRUTH),
    f"{_M}.streaming_recall": measured("streaming_recall", 2 / 3, _GUESSES, _TRUTH),
    f"{_M}.streaming_root_mean_squared_error": measured(
        "streaming_root_mean_squared_error", np.sqrt(2), [1.0, 4.0], [1.0, 2.0]
    ),
    f"{_M}.streaming_sparse_precision_at_k": measured(
        "streaming_sparse_precision_at_k", 0.5, _SCORES, _LABELS, k=2
    ),
    f"{_M}.streaming_sparse_recall_at_k": measured(
        "streaming_sparse_recall_at_k", 0.5, _SCORES, _LABELS, k=1
    ),
    f"{_M}.streaming_sparse_average_precision_at_k": measured(
        "streaming_sparse_average_precision_at_k", 0.75, _SCORES, _LABELS, k=2
    ),
}
