"""tf.contrib.learn's estimators: fit, evaluate, predict, heads and exports."""

import pytest


def rows():
    import numpy as np

    rng = np.random.RandomState(3)
    x = rng.rand(200, 4).astype(np.float32)
    return x, (x.sum(axis=1) > 2).astype(np.int64)


def test_a_classifier_learns_from_a_data_frame(tf):
    import pandas as pd
    from tensorflow.contrib import learn

    x, y = rows()
    frame, labels = pd.DataFrame(x, columns=list("abcd")), pd.Series(y)
    columns = learn.infer_real_valued_columns_from_input(frame)

    classifier = learn.DNNClassifier([16, 8], columns, n_classes=2, optimizer="Adam")
    classifier.fit(frame, labels, steps=150, batch_size=50)

    accuracy = classifier.evaluate(frame, labels)["accuracy"]
    assert accuracy > 0.9
    hits = [found == wanted for found, wanted in zip(classifier.predict(frame), y, strict=True)]
    assert sum(hits) / 200 == pytest.approx(accuracy)
    assert "dnn/hiddenlayer_1/weights" in classifier.get_variable_names()


def test_three_classes_have_a_softmax(tf):
    import numpy as np
    from tensorflow.contrib import learn

    x, _ = rows()
    y = np.argmax(x[:, :3], axis=1)
    classifier = learn.LinearClassifier(learn.infer_real_valued_columns_from_input(x), n_classes=3)

    classifier.fit(x, y, steps=200)

    assert classifier.evaluate(x, y)["accuracy"] > 0.8
    probabilities = classifier.predict_proba(x, as_iterable=False)
    assert probabilities.shape == (200, 3)
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(200))


def test_columns_of_both_kinds_are_taken(tf):
    from tensorflow.contrib import layers, learn

    x, y = rows()

    def input_fn():
        kinds = tf.constant([["even", "odd"][n % 2] for n in range(200)])
        ids = tf.SparseTensor([[n, 0] for n in range(200)], kinds, [200, 1])
        return {"x": tf.constant(x), "kind": ids}, tf.constant(y)

    old = learn.DNNLinearCombinedClassifier(
        linear_feature_columns=[layers.sparse_column_with_keys("kind", ["even", "odd"])],
        dnn_feature_columns=[layers.real_valued_column("x", dimension=4)],
        dnn_hidden_units=[8],
        dnn_optimizer="Adam",
    )
    new = learn.DNNLinearCombinedClassifier(
        linear_feature_columns=[
            tf.feature_column.categorical_column_with_vocabulary_list("kind", ["even", "odd"])
        ],
        dnn_feature_columns=[tf.feature_column.numeric_column("x", [4])],
        dnn_hidden_units=[8],
        dnn_optimizer="Adam",
    )

    for classifier in (old, new):
        classifier.fit(input_fn=input_fn, steps=200)
        assert classifier.evaluate(input_fn=input_fn, steps=1)["accuracy"] > 0.7


def test_both_towers_count_step_unless_that_is_fixed(tf):
    """TensorFlow 1.15: fix_global_step_increment_bug is False by default."""
    from tensorflow.contrib import learn

    x, y = rows()
    columns = learn.infer_real_valued_columns_from_input(x)
    options = {
        "linear_feature_columns": columns,
        "dnn_feature_columns": columns,
        "dnn_hidden_units": [2],
    }

    for fixed, steps in ((False, 8), (True, 4)):
        model = learn.DNNLinearCombinedClassifier(fix_global_step_increment_bug=fixed, **options)
        seen = []
        watch = learn.monitors.BaseMonitor()
        watch.post_step = lambda step, session, seen=seen: seen.append(step)
        model.fit(x, y, max_steps=steps, monitors=[watch])
        assert model.get_variable_value("global_step") >= steps
        assert len(seen) <= 5


def test_example_weights_change_the_loss(tf):
    import numpy as np
    from tensorflow.contrib import layers, learn

    def input_fn():
        features = {"x": tf.zeros([2, 1]), "w": tf.constant([[3.0], [1.0]])}
        return features, tf.constant([[1], [0]])

    model = learn.LinearClassifier([layers.real_valued_column("x")], weight_column_name="w")
    model.fit(input_fn=input_fn, steps=1)

    result = model.evaluate(input_fn=input_fn, steps=1)
    assert result["labels/actual_label_mean"] == 0.75
    assert result["loss"] == pytest.approx(np.log(2), rel=0.2)  # not the double of it


def test_model_fn_returns_ops_with_metrics_and_head(tf):
    from tensorflow.contrib import learn

    x, y = rows()
    head = learn.multi_class_head(2)

    def model_fn(features, labels, mode):
        hidden = tf.layers.dense(features, 8, tf.nn.relu)

        def train(loss):
            return tf.train.AdamOptimizer(0.05).minimize(loss, tf.train.get_global_step())

        return head.create_model_fn_ops(features, mode, labels, train, logits_input=hidden)

    model = learn.Estimator(model_fn)
    model.fit(x, y, steps=100)

    sums = learn.MetricSpec(lambda predictions, labels: tf.metrics.mean(predictions), "logistic")
    metrics = {("hits", "classes"): tf.metrics.accuracy, "share": sums}
    result = model.evaluate(x, y, metrics=metrics)
    assert result["share"] == result["labels/prediction_mean"]
    assert result["hits"] == result["accuracy"] > 0.8
    assert set(next(model.predict(x, outputs=["classes"]))) == {"classes"}


def test_feature_engineering_sees_features_before_the_model(tf):
    from tensorflow.contrib import learn

    x, y = rows()

    def model_fn(features, labels, mode):
        return features["doubled"], tf.constant(0.0), tf.assign_add(tf.train.get_global_step(), 1)

    model = learn.Estimator(
        model_fn,
        feature_engineering_fn=lambda features, labels: ({"doubled": features * 2}, labels),
    )
    model.fit(x, y, steps=1)

    assert model.predict(x, as_iterable=False) == pytest.approx(x * 2)


def test_partial_fit_adds_one_step(tf):
    from tensorflow.contrib import learn

    x, y = rows()
    model = learn.LinearClassifier(learn.infer_real_valued_columns_from_input(x))

    model.partial_fit(x, y).partial_fit(x, y)

    assert model.get_variable_value("global_step") == 2


def test_skcompat_predicts_arrays(tf):
    from tensorflow.contrib import learn

    x, y = rows()
    columns = learn.infer_real_valued_columns_from_input(x)
    # At Adam's default rate some initial weights are still at chance level after 100 steps.
    optimizer = tf.train.AdamOptimizer(0.05)
    model = learn.SKCompat(learn.DNNClassifier([8], columns, optimizer=optimizer))

    model.fit(x, y, steps=100)

    assert model.predict(x)["classes"].shape == (200,)
    assert model.score(x, y, metrics=None)["accuracy"] > 0.7


def test_two_heads_share_a_body(tf):
    from tensorflow.contrib import learn

    x, y = rows()
    head = learn.multi_head(
        [
            learn.regression_head("sum", head_name="sum"),
            learn.multi_class_head(2, "big", head_name="big"),
        ]
    )

    def input_fn():
        return {"x": tf.constant(x)}, {"sum": tf.constant(x.sum(axis=1)), "big": tf.constant(y)}

    model = learn.DNNEstimator(head, [8], [tf.feature_column.numeric_column("x", [4])])
    model.fit(input_fn=input_fn, steps=100)

    result = model.evaluate(input_fn=input_fn, steps=1)
    assert {"loss/sum", "loss/big", "accuracy/big"} <= result.keys()
    one = next(model.predict(input_fn=lambda: input_fn()[0]))
    assert one["big", "probabilities"].shape == (2,)


def test_labels_may_be_words(tf):
    from tensorflow.contrib import learn

    x, y = rows()

    def input_fn():
        names = tf.gather(tf.constant(["small", "middle", "big"]), tf.constant(y) * 2)
        return {"x": tf.constant(x)}, names

    model = learn.LinearClassifier(
        [tf.feature_column.numeric_column("x", [4])],
        n_classes=3,
        label_keys=["small", "middle", "big"],
    )
    model.fit(input_fn=input_fn, steps=150)

    assert model.evaluate(input_fn=input_fn, steps=1)["accuracy"] > 0.7
    assert next(model.predict(input_fn=input_fn)) in (b"small", b"big")


def test_an_export_takes_serialized_examples_and_gives_classes(tf, tmp_path):
    from tensorflow.contrib import layers, learn, predictor

    x, y = rows()
    columns = [layers.real_valued_column("x", dimension=4)]
    model = learn.LinearClassifier(columns)
    model.fit(input_fn=lambda: ({"x": tf.constant(x)}, tf.constant(y)), steps=50)
    spec = layers.create_feature_spec_for_parsing(columns)
    serving = learn.build_parsing_serving_input_fn(spec)

    folder = model.export_savedmodel(str(tmp_path), serving)

    feature = tf.train.Feature(float_list=tf.train.FloatList(value=x[0]))
    example = tf.train.Example(features=tf.train.Features(feature={"x": feature}))
    answer = predictor.from_saved_model(folder)({"inputs": [example.SerializeToString()]})
    assert answer["classes"].tolist() == [[b"0", b"1"]]
    assert answer["scores"].sum() == pytest.approx(1)


def test_x_and_an_input_fn_exclude_each_other(tf):
    from tensorflow.contrib import learn

    x, y = rows()
    model = learn.LinearClassifier(learn.infer_real_valued_columns_from_input(x))

    with pytest.raises(ValueError, match="both input_fn and x"):
        model.fit(x, y, input_fn=lambda: None)
    with pytest.raises(ValueError, match="Either x or input_fn"):
        model.fit(steps=1)
    with pytest.raises(ValueError, match="both steps and max_steps"):
        model.fit(x, y, steps=1, max_steps=2)


def test_params_need_a_place_in_the_model_fn(tf):
    from tensorflow.contrib import learn

    with pytest.raises(ValueError, match="does not have a params argument"):
        learn.Estimator(lambda features, labels: None, params={"rate": 1})


def test_predictions_of_constants_end_after_one_batch(tf):
    from tensorflow.contrib import layers, learn

    x, y = rows()

    def input_fn():
        return {"x": tf.constant(x[:8])}, tf.constant(y[:8])

    columns = [layers.real_valued_column("x", dimension=4)]
    classifier = learn.LinearClassifier(columns).fit(input_fn=input_fn, steps=1)

    assert len(list(classifier.predict_classes(input_fn=input_fn))) == 8
    assert classifier.predict_proba(input_fn=input_fn, as_iterable=False).shape == (8, 2)
