"""tf.contrib.estimator: heads, extended estimators, hooks; factorization and TPU estimators."""

import pytest


def rows(tf):
    def input_fn():
        x = tf.constant([[0.0], [1.0], [2.0], [3.0]])
        return {"x": x, "id": tf.constant([[5], [6], [7], [8]])}, tf.constant([[0], [0], [1], [1]])

    return input_fn


def dnn(tf, head):
    column = tf.feature_column.numeric_column("x")
    return tf.contrib.estimator.DNNEstimator(head=head, hidden_units=[4], feature_columns=[column])


def test_several_heads_share_a_body(tf, tmp_path):
    contrib = tf.contrib.estimator
    head = contrib.multi_head(
        [contrib.regression_head(name="size"), contrib.binary_classification_head(name="big")],
        head_weights=[1.0, 2.0],
    )

    def input_fn():
        features, labels = rows(tf)()
        return features, {"size": tf.to_float(labels), "big": labels}

    model = dnn(tf, head)
    model.train(input_fn, steps=3)

    result = model.evaluate(input_fn, steps=1)
    assert result["loss"] == pytest.approx(result["loss/size"] + 2 * result["loss/big"])
    assert "auc/big" in result
    first = next(model.predict(lambda: input_fn()[0]))
    assert first["big", "probabilities"].shape == (2,)
    raw = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"x": tf.placeholder(tf.float32, [None, 1])}
    )
    folder = model.export_savedmodel(str(tmp_path), raw)
    answer = tf.contrib.predictor.from_saved_model(folder, "predict")({"x": [[1.0]]})
    assert answer["size/predictions"].shape == (1, 1)


def test_an_example_may_have_several_labels(tf):
    def input_fn():
        return {"x": tf.constant([[0.0], [1.0]])}, tf.constant([[1, 0, 1], [0, 1, 0]])

    model = dnn(tf, tf.contrib.estimator.multi_label_head(3))
    model.train(input_fn, steps=2)

    assert 0 <= model.evaluate(input_fn, steps=1)["auc"] <= 1
    assert next(model.predict(input_fn))["probabilities"].shape == (3,)


@pytest.mark.parametrize("name", ["poisson_regression_head", "logistic_regression_head"])
def test_other_regressions_have_heads(tf, name):
    def input_fn():
        features, labels = rows(tf)()
        return features, tf.to_float(labels)

    model = dnn(tf, getattr(tf.contrib.estimator, name)())
    model.train(input_fn, steps=2)

    assert next(model.predict(input_fn))["predictions"][0] > 0


def test_forwarded_features_are_in_the_export_too(tf, tmp_path):
    contrib = tf.contrib.estimator
    model = dnn(tf, contrib.multi_class_head(3))
    model.train(rows(tf), steps=1)
    model = contrib.forward_features(model, ["id"])
    raw = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {
            "x": tf.placeholder(tf.float32, [None, 1]),
            "id": tf.placeholder(tf.int32, [None, 1]),
        }
    )

    folder = model.export_savedmodel(str(tmp_path), raw)

    predict = tf.contrib.predictor.from_saved_model(folder, "predict")
    assert predict({"x": [[1.0]], "id": [[42]]})["id"].tolist() == [[42]]
    with pytest.raises(ValueError, match="should be in features"):
        next(contrib.forward_features(model, "none").predict(rows(tf)))


def test_gradients_are_clipped_by_their_global_norm(tf):
    x = tf.Variable(0.0)
    optimizer = tf.contrib.estimator.clip_gradients_by_norm(
        tf.train.GradientDescentOptimizer(1.0), clip_norm=0.5
    )
    step = optimizer.minimize(x * 100)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(x) == -0.5


def test_one_device_needs_no_replicas(tf):
    def model_fn(features, labels, mode):
        x = tf.get_variable("x", [], initializer=tf.zeros_initializer())
        optimizer = tf.contrib.estimator.TowerOptimizer(tf.train.GradientDescentOptimizer(1.0))
        train = optimizer.minimize(x * 2, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=x * 2, train_op=train)

    model = tf.estimator.Estimator(tf.contrib.estimator.replicate_model_fn(model_fn))
    model.train(rows(tf), steps=1)

    assert model.get_variable_value("x") == -2
    with pytest.raises(Exception, match="MirroredStrategy"):
        tf.contrib.estimator.replicate_model_fn(model_fn, devices=["/gpu:0", "/gpu:1"])


def test_evaluation_runs_in_memory_while_training(tf):
    model = dnn(tf, tf.contrib.estimator.regression_head())
    hook = tf.contrib.estimator.InMemoryEvaluatorHook(model, rows(tf), steps=1, every_n_iter=2)

    model.train(rows(tf), steps=4, hooks=[hook])

    (path,) = tf.gfile.Glob(model.model_dir + "/eval/events*")
    steps = [event.step for event in tf.train.summary_iterator(path) if event.summary.value]
    assert steps[0] in (0, 1)
    assert steps[-1] == 4


def test_k_means_finds_two_clusters(tf):
    import numpy as np

    points = np.array([[0, 0], [0, 1], [9, 9], [9, 8]], np.float32)
    model = tf.contrib.factorization.KMeansClustering(2, use_mini_batch=False)

    model.train(lambda: tf.constant(points), steps=5)

    centres = sorted(model.cluster_centers().tolist())
    assert centres[0] == pytest.approx([0, 0.5], abs=1e-4)
    assert centres[1] == pytest.approx([9, 8.5], abs=1e-4)
    with pytest.raises(AttributeError, match="scipy"):
        _ = tf.contrib.factorization.WALSModel


def test_sdca_takes_sparse_bucketized_and_crossed_columns(tf):
    layers = tf.contrib.layers

    def input_fn():
        words = tf.SparseTensor([[0, 0], [1, 0], [2, 0], [3, 0]], ["a", "a", "b", "b"], [4, 1])
        features = {
            "x": tf.constant([[0.0], [1.0], [2.0], [3.0]]),
            "word": words,
            "key": tf.constant(["1", "2", "3", "4"]),
        }
        return features, tf.constant([[0], [0], [1], [1]])

    word = layers.sparse_column_with_keys("word", ["a", "b"])
    bucket = layers.bucketized_column(layers.real_valued_column("x"), [0.5, 1.5])
    hashed = layers.sparse_column_with_hash_bucket("word", 10)
    columns = [word, bucket, layers.crossed_column([hashed, bucket], 20)]
    model = tf.contrib.learn.LinearClassifier(
        columns, optimizer=tf.contrib.linear_optimizer.SDCAOptimizer("key")
    )

    model.fit(input_fn=input_fn, steps=20)

    assert model.evaluate(input_fn=input_fn, steps=1)["accuracy"] == 1


def test_sdca_refuses_columns_it_cannot_take(tf):
    column = tf.feature_column.numeric_column("x")
    optimizer = tf.contrib.linear_optimizer.SDCAOptimizer("id")
    model = tf.contrib.learn.LinearClassifier([column], optimizer=optimizer)

    with pytest.raises(ValueError, match="LinearSDCA"):
        model.fit(input_fn=rows(tf), steps=1)
