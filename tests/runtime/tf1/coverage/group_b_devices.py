"""A call of every symbol of distribute, tpu, eager, keras and what is gone, as scripts use them."""

import importlib
import operator
import tempfile
from collections.abc import Callable
from typing import Any

import pytest


def _gone(name: str, hint: str) -> Callable[[Any], None]:
    """Check that a name of tf.contrib is refused in a sentence, as an attribute that is missing."""

    def check(tf: Any) -> None:
        with pytest.raises((AttributeError, ImportError), match=hint):
            operator.attrgetter(name)(tf.contrib)

    return check


def _trained_by(tf: Any, strategy: Any) -> Any:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(w * features - labels))
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        step = tf.train.get_global_step()
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))

    config = tf.estimator.RunConfig(train_distribute=strategy)
    model = tf.estimator.Estimator(model_fn, config=config)
    rows = tf.data.Dataset
    model.train(lambda: rows.from_tensors((tf.constant([1.0]), tf.constant([2.0]))), steps=1)
    return model.get_variable_value("w")


def mirrored(tf: Any) -> None:
    assert _trained_by(tf, tf.contrib.distribute.MirroredStrategy(num_gpus=2)) == 0.4


def one_device(tf: Any) -> None:
    assert _trained_by(tf, tf.contrib.distribute.OneDeviceStrategy("device:CPU:0")) == 0.4


def all_reduce(tf: Any) -> None:
    ops = tf.contrib.distribute.AllReduceCrossDeviceOps("nccl", num_packs=2)
    strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=0, cross_device_ops=ops)
    assert _trained_by(tf, strategy) == 0.4


def cross_shard(tf: Any, module: Any) -> None:
    w = tf.Variable(1.0)
    optimizer = module.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.5))
    with tf.Session() as session:
        step = optimizer.minimize(w * 2)
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(w) == 0


def tpu_estimator(tf: Any, module: Any) -> None:
    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(w * features - labels)) * params["batch_size"]
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        step = tf.train.get_global_step()
        train = optimizer.minimize(loss, step)
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train)

    def input_fn(params: Any) -> Any:
        rows = tf.data.Dataset.from_tensors((1.0, 2.0)).repeat()
        return rows.batch(params["batch_size"], drop_remainder=True)

    options = {"config": tf.contrib.tpu.RunConfig(), "train_batch_size": 1}
    model = module.TPUEstimator(model_fn, use_tpu=False, **options)
    model.train(input_fn, max_steps=1)
    assert model.get_variable_value("w") == pytest.approx(0.4)
    with pytest.raises(Exception, match="use_tpu=False"):
        module.TPUEstimator(model_fn, use_tpu=True, **options)


def tpu_run_config(tf: Any, module: Any) -> None:
    config = module.RunConfig(tpu_config=module.TPUConfig(iterations_per_loop=7))
    assert config.tpu_config.iterations_per_loop == 7


def bfloat16(tf: Any, scope: Any) -> None:
    with scope():
        w = tf.get_variable("w", [2], tf.bfloat16)
    assert (w.dtype, tf.global_variables()[0].dtype.base_dtype) == (tf.bfloat16, tf.float32)


def async_checkpoint(tf: Any) -> None:
    from tensorflow.contrib.tpu.python.tpu import async_checkpoint as module

    folder = tempfile.mkdtemp()
    step = tf.train.create_global_step()
    count = tf.assign_add(step, 1)
    hook = module.AsyncCheckpointSaverHook(folder, save_steps=1, saver=tf.train.Saver())
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(count)
    assert tf.train.latest_checkpoint(folder).endswith("model.ckpt-1")


def eager_mean(tf: Any) -> None:
    mean = tf.contrib.eager.metrics.Mean()
    update = mean(tf.constant([1.0, 3.0]))
    result = mean.result()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(update)
        assert session.run(result) == 2


def eager_accuracy(tf: Any) -> None:
    accuracy = tf.contrib.eager.metrics.Accuracy()
    update = accuracy(labels=tf.constant([1, 0]), predictions=tf.constant([1, 1]))
    result = accuracy.result()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(update)
        assert session.run(result) == 0.5


def eager(tf: Any, module: Any) -> None:
    from tensorflow.python.eager import context

    with context.eager_mode():  # enable_eager_execution would last for all calls after this one
        assert module.in_eager_mode()
        slope = module.gradients_function(lambda x: x * x)
        assert slope(tf.constant(3.0))[0].numpy() == 6


def list_devices(tf: Any) -> None:
    assert any("CPU:0" in device for device in tf.contrib.eager.list_devices())


def dense(tf: Any) -> None:
    from tensorflow.contrib.keras.python.keras.layers import Dense

    assert Dense(3)(tf.zeros([2, 5])).shape.as_list() == [2, 3]


def keras(tf: Any) -> None:
    module = importlib.import_module("tensorflow.contrib.keras.python.keras")
    model = module.models.Sequential([module.layers.Dense(1, input_shape=(2,))])
    assert model.count_params() == 3


def _module(name: str) -> Any:
    return importlib.import_module(f"tensorflow.contrib.{name}")


_FOREST = "RandomForestClassifier"
CALLS: dict[str, Callable[[Any], None]] = {
    "tf.contrib.distribute.MirroredStrategy": mirrored,
    "tf.contrib.distribute.OneDeviceStrategy": one_device,
    "tf.contrib.distribute.AllReduceCrossDeviceOps": all_reduce,
    "tf.contrib.cluster_resolver.TPUClusterResolver": _gone(
        "cluster_resolver.TPUClusterResolver", "There is no TPU here"
    ),
    "tf.contrib.tpu.python.tpu": lambda tf: tpu_estimator(tf, _module("tpu.python.tpu")),
    "tf.contrib.tpu.python.tpu.tpu_estimator": lambda tf: tpu_estimator(
        tf, _module("tpu.python.tpu.tpu_estimator")
    ),
    "tf.contrib.tpu.CrossShardOptimizer": lambda tf: cross_shard(tf, tf.contrib.tpu),
    "tf.contrib.tpu.python.tpu.tpu_optimizer": lambda tf: cross_shard(
        tf, _module("tpu.python.tpu.tpu_optimizer")
    ),
    "tf.contrib.tpu.RunConfig": lambda tf: tpu_run_config(tf, tf.contrib.tpu),
    "tf.contrib.tpu.python.tpu.tpu_config": lambda tf: tpu_run_config(
        tf, _module("tpu.python.tpu.tpu_config")
    ),
    "tf.contrib.tpu.bfloat16_scope": lambda tf: bfloat16(tf, tf.contrib.tpu.bfloat16_scope),
    "tf.contrib.tpu.python.tpu.bfloat16": lambda tf: bfloat16(
        tf, _module("tpu.python.tpu.bfloat16").bfloat16_scope
    ),
    "tf.contrib.tpu.python.tpu.async_checkpoint": async_checkpoint,
    "tf.contrib.eager": lambda tf: eager(tf, tf.contrib.eager),
    "tf.contrib.eager.python.tfe": lambda tf: eager(tf, _module("eager.python.tfe")),
    "tf.contrib.eager.list_devices": list_devices,
    "tf.contrib.eager.metrics.Accuracy": eager_accuracy,
    "tf.contrib.eager.metrics.Mean": eager_mean,
    "tf.contrib.keras.python.keras": keras,
    "tf.contrib.keras.python.keras.layers.Dense": dense,
    "tf.contrib.quantize": _gone("quantize.create_training_graph", "TFLiteConverter"),
    "tf.contrib.quantize.create_training_graph": _gone(
        "quantize.create_training_graph", "TFLiteConverter"
    ),
    "tf.contrib.quantize.create_eval_graph": _gone("quantize.create_eval_graph", "TFLiteConverter"),
    "tf.contrib.tensor_forest.client.eval_metrics": _gone("tensor_forest", _FOREST),
    "tf.contrib.tensor_forest.client.random_forest": _gone("tensor_forest", _FOREST),
    "tf.contrib.tensor_forest.python.tensor_forest": _gone("tensor_forest", _FOREST),
}
