"""Schedules at their edges, against values computed by hand."""

import math

import numpy as np
import pytest


@pytest.fixture
def rates():
    """Return a schedule's values at steps of the global step."""

    def at(tf, make, steps):
        step = tf.train.get_or_create_global_step()
        rate = make(step)
        assert rate.dtype == tf.float32
        assert rate.shape == []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = []
            for number in steps:
                step.load(number, session)
                found.append(session.run(rate))
            return found

    return at


def piecewise(strategy, num_samples=100, global_batch_size=10):
    from moxing.tensorflow.optimizer import learning_rate_scheduler

    return lambda step: learning_rate_scheduler.piecewise_lr(
        strategy, num_samples=num_samples, global_batch_size=global_batch_size
    )


def test_item_is_valid_up_to_its_epoch(tf, rates):
    """The published script: 0.01 in epochs 0 to 10, 0.001 in 10 to 20."""
    found = rates(tf, piecewise("10:0.01,20:0.001"), [0, 99, 100, 199, 200, 10**9])

    np.testing.assert_allclose(found, [0.01, 0.01, 0.001, 0.001, 0.001, 0.001])


def test_an_epoch_has_its_last_partial_batch_too(tf, rates):
    found = rates(tf, piecewise("1:1,2:2", num_samples=101), [10, 11])

    assert found == [1.0, 2.0]


def test_arrow_is_linear_double_arrow_is_geometric(tf, rates):
    strategy = "2:0.1->0.5,4:0.5=>0.005,5:1->2"

    found = rates(tf, piecewise(strategy), [0, 5, 19, 20, 30, 39, 40, 45, 50, 51])

    middle = [0.5, 0.05, 0.5 * 0.01 ** (19 / 20)]
    np.testing.assert_allclose(found, [0.1, 0.2, 0.48, *middle, 1.0, 1.5, 2.0, 2.0], rtol=1e-6)


def test_an_epoch_may_be_part_of_one(tf, rates):
    assert rates(tf, piecewise(" 0.5:1 , 1.5:2 ,"), [4, 5, 15]) == [1.0, 2.0, 2.0]


@pytest.mark.parametrize("strategy", ["0.25", 0.25])
def test_a_number_alone_is_a_constant(tf, rates, strategy):
    assert rates(tf, piecewise(strategy), [0, 10**6]) == [0.25, 0.25]


def test_steps_beyond_whole_numbers_of_float32_are_distinguished(tf, rates):
    strategy = "10000000:1,10000001:2->12,10000002:3"

    start = 10 * 10**7
    found = rates(tf, piecewise(strategy), [start - 1, start, start + 1, start + 9, start + 10])

    assert found == [1.0, 2.0, 3.0, 11.0, 3.0]


@pytest.mark.parametrize(
    ("strategy", "sentence"),
    [
        ("10:0.1,0.2", "'0.2' in the learning rate '10:0.1,0.2' is not epoch:rate, such as"),
        ("10:0.1,10:0.2", "must rise: 10 does not"),
        ("0:0.1", "must rise: 0 does not"),
        ("ten:0.1", "'ten' in the learning rate 'ten:0.1' is not an epoch"),
        ("10:big", "'big' in the learning rate '10:big' is not a rate"),
        ("10:0=>1", "beside => in the learning rate '10:0=>1' must be above 0"),
        ("10:0.1->", "'' in the learning rate '10:0.1->' is not a rate"),
        ("10:nan", "is not a rate"),
        ("-1", "'-1' in the learning rate '-1' is not a rate"),
        ("", "'' in the learning rate '' is not a rate"),
    ],
)
def test_a_strategy_that_cannot_be_read_is_reported(strategy, sentence):
    from moxing.tensorflow.optimizer.learning_rate_scheduler import read

    with pytest.raises(ValueError, match=sentence):
        read(strategy)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"num_samples": 0}, "num_samples of piecewise_lr must be above 0, got 0"),
        ({"global_batch_size": -1}, "global_batch_size of piecewise_lr must be above 0, got -1"),
    ],
)
def test_sizes_that_make_no_epoch_are_reported(tf, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        piecewise("0.1", **options)(None)


def decay(name, warmup=0.1, decay_end=0.9, **options):
    from moxing.tensorflow.optimizer import learning_rate_scheduler

    make = getattr(learning_rate_scheduler, name)
    return lambda step: make(6.0, 1.0, step, 100, warmup, decay_end, **options)


@pytest.mark.parametrize(
    ("name", "options", "halfway"),
    [
        ("linear_cosine_decay", {}, 1 + 5 * 0.5 * 0.5),
        ("polynomial_decay", {}, 1 + 5 * 0.25),
        ("polynomial_decay", {"power": 1.0}, 1 + 5 * 0.5),
    ],
)
def test_a_rate_rises_falls_and_rests(tf, rates, name, options, halfway):
    found = rates(tf, decay(name, **options), [0, 5, 10, 50, 90, 95, 100, 1000])

    np.testing.assert_allclose(found, [1.0, 3.5, 6.0, halfway, 1.0, 1.0, 1.0, 1.0], rtol=1e-6)


def test_way_down_of_cosine_is_steeper_than_line(tf, rates):
    found = rates(tf, decay("linear_cosine_decay"), [30, 70])

    quarter = [1 + 5 * (1 - p) * (1 + math.cos(math.pi * p)) / 2 for p in (0.25, 0.75)]
    np.testing.assert_allclose(found, quarter, rtol=1e-6)


@pytest.mark.parametrize("name", ["linear_cosine_decay", "polynomial_decay"])
def test_rate_may_begin_high_and_drop(tf, rates, name):
    assert rates(tf, decay(name, warmup=0.0), [0]) == [6.0]
    tf.reset_default_graph()
    assert rates(tf, decay(name, 0.5, 0.5), [25, 50, 51]) == [3.5, 6.0, 1.0]


@pytest.mark.parametrize(("warmup", "end"), [(-0.1, 0.5), (0.5, 0.4), (0.5, 1.1)])
def test_shares_with_gaps_are_reported(tf, warmup, end):
    with pytest.raises(ValueError, match=f"got {warmup} and {end}"):
        decay("polynomial_decay", warmup, end)(0)
