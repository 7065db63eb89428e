"""tf.contrib.metrics and tf.contrib.losses: predictions come first in both."""

import numpy as np
import pytest


def measured(tf, metric):
    value, update = metric
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(update)
        return session.run(value)


def test_metrics_gather_over_batches(tf):
    batch = tf.placeholder(tf.float32, [None])
    value, update = tf.contrib.metrics.streaming_mean(batch)

    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(update, {batch: [1, 3]}) == 2
        assert session.run(update, {batch: [8]}) == 4
        assert session.run(value) == 4


def test_predictions_and_labels_are_not_exchanged(tf):
    guesses, truth = tf.constant([1, 1, 0, 0]), tf.constant([1, 0, 0, 0])
    metrics = tf.contrib.metrics

    assert measured(tf, metrics.streaming_precision(guesses, truth)) == 0.5
    assert measured(tf, metrics.streaming_recall(guesses, truth)) == 1.0
    matrix = metrics.confusion_matrix(truth, guesses, num_classes=2)
    with tf.Session() as session:
        assert session.run(matrix).tolist() == [[2, 1], [0, 1]]
        assert session.run(metrics.accuracy(guesses, truth)) == 0.75


def test_sets_are_compared_by_row(tf):
    first, second = tf.constant([[1, 2, 3]]), tf.constant([[2, 3, 4]])
    metrics = tf.contrib.metrics

    with tf.Session() as session:
        assert session.run(metrics.set_intersection(first, second)).values.tolist() == [2, 3]
        assert session.run(metrics.set_difference(first, second)).values.tolist() == [1]
        assert session.run(metrics.set_union(first, second)).values.tolist() == [1, 2, 3, 4]
        assert session.run(metrics.set_size(metrics.set_union(first, second))).tolist() == [4]


def test_further_metrics_have_their_values(tf):
    metrics = tf.contrib.metrics
    ones, twos = tf.constant([1.0, 2.0, 3.0]), tf.constant([2.0, 4.0, 6.0])

    assert np.isclose(measured(tf, metrics.streaming_pearson_correlation(ones, twos)), 1.0)
    assert measured(tf, metrics.streaming_concat(ones)).tolist() == [1, 2, 3]
    assert measured(tf, metrics.count(ones)) == 3
    assert measured(tf, metrics.streaming_percentage_less(ones, 2.5)) == pytest.approx(2 / 3)
    assert (
        measured(tf, metrics.streaming_mean_iou(tf.constant([0, 1]), tf.constant([0, 1]), 2)) == 1.0
    )


def test_losses_join_the_losses_of_the_graph(tf):
    losses = tf.contrib.losses
    logits, labels = tf.constant([[2.0, 0.0]]), tf.constant([[1.0, 0.0]])

    made = [
        losses.softmax_cross_entropy(logits, labels),
        losses.sparse_softmax_cross_entropy(logits, tf.constant([0])),
        losses.sigmoid_cross_entropy(logits, labels),
        losses.mean_squared_error(tf.constant([1.0, 3.0]), tf.constant([1.0, 1.0]), weights=2.0),
        losses.absolute_difference(tf.constant([1.0]), tf.constant([4.0])),
        losses.log_loss(tf.constant([0.5]), tf.constant([1.0])),
        losses.cosine_distance(tf.constant([[1.0, 0.0]]), tf.constant([[0.0, 1.0]]), axis=1),
    ]

    soft = np.log1p(np.exp(-2))
    expected = [soft, soft, (soft + np.log(2)) / 2, 4.0, 3.0, np.log(2), 1.0]
    with tf.Session() as session:
        assert np.allclose(session.run(made), expected, atol=1e-6)
        total = session.run(losses.get_total_loss())
        hinge = losses.hinge_loss(tf.constant([0.25]), tf.constant([1.0]))
        assert session.run(hinge).tolist() == [0.75]  # of each example, and no loss of the graph
    assert losses.get_losses() == made
    assert total == pytest.approx(sum(expected), abs=1e-5)


def test_embeddings_of_one_label_are_drawn_together(tf):
    learning = tf.contrib.losses.metric_learning
    near = learning.triplet_semihard_loss(
        tf.constant([0, 0, 1, 1]), tf.constant([[0.0], [0.1], [9.0], [9.1]])
    )
    mixed = learning.triplet_semihard_loss(
        tf.constant([0, 1, 0, 1]), tf.constant([[0.0], [0.1], [9.0], [9.1]])
    )

    with tf.Session() as session:
        assert session.run(near) == 0
        assert session.run(mixed) > 1


def test_a_target_has_a_loss_and_predictions(tf):
    target = tf.contrib.layers.multi_class_target(n_classes=2, weight_column_name="w")
    logits, labels = tf.constant([[0.0], [2.0]]), tf.constant([1, 0])
    features = {"w": tf.constant([1.0, 3.0])}

    with tf.Session() as session:
        found = session.run(
            [
                target.logits_to_predictions(logits),
                target.loss(logits, labels, features),
                target.training_loss(logits, labels, features),
            ]
        )

    each = np.array([np.log(2), 3 * np.log1p(np.exp(2))])
    assert found[0].tolist() == [0, 1]
    assert np.allclose(found[1:], [each.sum() / 4, each.mean()])
    regression = tf.contrib.layers.regression_target()
    with tf.Session() as session:
        assert session.run(regression.loss(logits, tf.constant([1.0, 5.0]), {})) == 5.0
