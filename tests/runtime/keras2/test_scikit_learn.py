"""Keras models in the hands of today's scikit-learn."""

import pytest


def build(units=8, loss="binary_crossentropy", outputs=1, metrics=("accuracy",)):
    import keras

    model = keras.models.Sequential()
    model.add(keras.layers.Dense(units, activation="relu", input_dim=4))
    model.add(keras.layers.Dense(outputs, activation="sigmoid" if outputs == 1 else "softmax"))
    model.compile(keras.optimizers.Adam(lr=0.05), loss, metrics=list(metrics))
    return model


def test_a_classifier_learns_predicts_and_scores(tf, points):
    from keras.wrappers.scikit_learn import KerasClassifier

    x, y = points
    names = y * 2 + 3  # 3 and 5: not what the network gives
    classifier = KerasClassifier(build_fn=build, units=16, nb_epoch=40, batch_size=16, verbose=0)

    history = classifier.fit(x, names)

    assert len(history.history["loss"]) == 40
    assert set(classifier.predict(x).ravel()) <= {3, 5}
    assert classifier.predict_proba(x).shape == (64, 2)
    assert classifier.predict_proba(x).sum(axis=1) == pytest.approx(1)
    assert classifier.score(x, names) > 0.8
    assert classifier.model.layers[0].units == 16


def test_classes_are_taken_apart_for_a_categorical_loss(tf, points):
    from keras.wrappers.scikit_learn import KerasClassifier

    x, y = points
    classifier = KerasClassifier(
        build, outputs=2, loss="categorical_crossentropy", epochs=20, verbose=0
    )

    classifier.fit(x, y)

    assert classifier.predict(x).shape == (64,)
    assert classifier.score(x, y) > 0.6


def test_a_grid_is_searched(tf, points):
    from keras.wrappers.scikit_learn import KerasClassifier
    from sklearn.model_selection import GridSearchCV

    x, y = points
    classifier = KerasClassifier(build_fn=build, verbose=0)
    grid = GridSearchCV(classifier, {"units": [1, 16], "epochs": [1, 30]}, cv=2, n_jobs=1)

    result = grid.fit(x, y)

    assert result.best_params_["epochs"] == 30
    assert result.best_score_ > 0.6


def test_a_pipeline_is_cross_validated(tf, points):
    from keras.wrappers.scikit_learn import KerasRegressor
    from sklearn.model_selection import KFold, cross_val_score
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = points
    steps = [
        ("standardize", StandardScaler()),
        ("mlp", KerasRegressor(build_fn=build, loss="mse", epochs=10, verbose=0)),
    ]

    scores = cross_val_score(Pipeline(steps), x, y, cv=KFold(n_splits=2))

    assert len(scores) == 2
    assert all(-1 < score < 0 for score in scores)


def test_a_regressor_gives_a_column_of_numbers(tf, points):
    from keras.wrappers.scikit_learn import KerasRegressor

    x, y = points
    regressor = KerasRegressor(build, loss="mse", epochs=2, verbose=0)

    regressor.fit(x, y)

    assert regressor.predict(x).shape == (64,)
    assert regressor.score(x, y) == pytest.approx(-regressor.model.evaluate(x, y, verbose=0)[0])


def test_an_argument_that_nothing_takes_is_refused(tf):
    from keras.wrappers.scikit_learn import KerasClassifier

    with pytest.raises(ValueError, match="'epoch' is no argument"):
        KerasClassifier(build_fn=build, epoch=3)


def test_a_model_without_accuracy_cannot_be_scored(tf, points):
    from keras.wrappers.scikit_learn import KerasClassifier

    x, y = points
    classifier = KerasClassifier(build_fn=build, metrics=(), verbose=0)
    classifier.fit(x, y)

    with pytest.raises(ValueError, match=r"metrics=\['accuracy'\]"):
        classifier.score(x, y)


def test_the_second_generation_has_it_too(tf2, points):
    from tensorflow.keras.wrappers.scikit_learn import KerasClassifier

    x, y = points
    classifier = KerasClassifier(build_fn=build, epochs=30, verbose=0)

    classifier.fit(x, y)

    assert classifier.score(x, y) > 0.6
