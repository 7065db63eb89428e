"""tf.contrib.training: loops, hooks and placement."""

import math

import pytest


def model(tf):
    weight = tf.get_variable("w", initializer=4.0)
    loss = tf.square(weight)
    return weight, loss, tf.train.GradientDescentOptimizer(0.25)


def test_a_loop_trains_and_its_checkpoints_are_evaluated(tf, tmp_path):
    training = tf.contrib.training
    with tf.Graph().as_default():
        _, loss, optimizer = model(tf)
        train_op = training.create_train_op(loss, optimizer, summarize_gradients=True)
        hooks = [tf.train.StopAtStepHook(num_steps=3)]
        last = training.train(train_op, str(tmp_path), hooks=hooks, save_summaries_steps=None)

    weight, loss, _ = model(tf)
    tf.train.get_or_create_global_step()
    tf.summary.scalar("loss", loss)
    seen = []

    class Look(tf.train.SessionRunHook):
        def end(self, session):
            seen.append(session.run([weight, training.get_or_create_eval_step()]))

    training.evaluate_repeatedly(
        str(tmp_path),
        eval_ops=loss,
        hooks=[
            training.StopAfterNEvalsHook(2),
            training.SummaryAtEndHook(str(tmp_path / "eval")),
            Look(),
        ],
        max_number_of_evaluations=1,
        eval_interval_secs=0,
    )

    assert last <= 1.0
    assert seen == [[0.5, 2]]
    (events,) = tf.gfile.Glob(str(tmp_path / "eval" / "events*"))
    written = [v.tag for event in tf.train.summary_iterator(events) for v in event.summary.value]
    assert written == ["loss"]
    assert list(training.checkpoints_iterator(str(tmp_path), timeout=0)) == [
        tf.train.latest_checkpoint(str(tmp_path))
    ]
    assert training.wait_for_new_checkpoint(str(tmp_path), None) == tf.train.latest_checkpoint(
        str(tmp_path)
    )


def test_gradients_are_clipped_and_scaled(tf):
    training = tf.contrib.training
    weight, loss, optimizer = model(tf)
    grads = optimizer.compute_gradients(loss)

    ((clipped, _),) = training.clip_gradient_norms(grads, 2.0)
    ((scaled, _),) = training.multiply_gradients(grads, {weight: 0.5})

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([clipped, scaled]) == [2.0, 4.0]


def test_variables_are_placed_by_the_strategy(tf):
    training = tf.contrib.training
    greedy = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, ps_strategy=greedy)):
        made = [tf.get_variable(n, [size]) for n, size in (("a", 10), ("b", 2), ("c", 2))]

    assert [v.device for v in made] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:1"]
    by_name = training.RandomStrategy(3, seed=1)
    assert by_name(made[0].op) == by_name(made[0].op)


@pytest.mark.parametrize(
    ("step", "t_mul", "m_mul", "expected"),
    [(0, 1.0, 1.0, 1.0), (5, 1.0, 1.0, 0.5), (10, 1.0, 0.5, 0.5), (20, 2.0, 0.5, 0.25)],
)
def test_a_rate_falls_and_starts_again(tf, step, t_mul, m_mul, expected):
    from tensorflow.contrib.training.python.training import sgdr_learning_rate_decay as sgdr

    rate = sgdr.sgdr_decay(1.0, tf.constant(step), 10, t_mul=t_mul, m_mul=m_mul)

    with tf.Session() as session:
        assert math.isclose(session.run(rate), expected, rel_tol=1e-4)


def test_the_runner_of_input_functions_is_there(tf):
    queue = tf.FIFOQueue(4, [tf.int32], shapes=[[]])
    given = tf.placeholder(tf.int32, [])
    feeds = iter([{given: 1}, {given: 2}])
    runner = tf.contrib.training.FeedingQueueRunner(
        queue, [queue.enqueue(given)], feed_fns=[lambda: next(feeds)]
    )

    with tf.Session() as session:
        coordinator = tf.train.Coordinator(clean_stop_exception_types=(StopIteration,))
        runner.create_threads(session, coordinator, daemon=True, start=True)
        assert [session.run(queue.dequeue()) for _ in range(2)] == [1, 2]
