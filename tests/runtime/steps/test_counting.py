"""What is a training step, and what is not."""

import pytest

from runtime.steps.training import model, total, watch


def test_initialising_restoring_evaluating_and_averaging_are_no_steps(tf, monkeypatch, tmp_path):
    watch(monkeypatch, limit=100)
    made = model(tf)
    average = tf.train.ExponentialMovingAverage(0.9).apply([made.weight])
    copied = tf.get_variable("copied", initializer=0.0)
    softly = tf.assign(copied, 0.5 * copied + 0.5 * made.weight)
    saver = tf.train.Saver()

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saver.save(session, str(tmp_path / "model"))
        saver.restore(session, str(tmp_path / "model"))
        session.run([made.loss, average, softly, made.weight])

    assert total() == 0


def _grouped(tf, made):
    return tf.group(made.train, tf.no_op())


def _depending(tf, made):
    with tf.control_dependencies([made.train]):
        return tf.identity(made.loss)


def _by_name(tf, made):
    return made.train.name


def _nested(tf, made):
    return {"a": [made.loss, (made.train, made.weight)]}


@pytest.mark.parametrize("fetch", [_grouped, _depending, _by_name, _nested])
def test_a_step_is_seen_however_it_is_fetched(tf, monkeypatch, fetch):
    watch(monkeypatch, limit=100)
    fetches = fetch(tf, model(tf))

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(fetches)

    assert total() == 3


def _momentum(tf, weight):
    return tf.train.MomentumOptimizer(0.1, 0.9).minimize(weight * 1.0)


def _sparse(tf, weight):
    table = tf.get_variable("table", [4, 2])
    return tf.train.AdamOptimizer().minimize(tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 2])))


def _descent_by_hand(tf, weight):
    (gradient,) = tf.gradients(weight * 1.0, [weight])
    return tf.assign(weight, weight - 0.1 * gradient)


def _subtracted(tf, weight):
    return weight.assign_sub(tf.constant(0.5))


def _own_optimizer(tf, weight):
    class Own(tf.train.Optimizer):
        """As BERT's: assigns by itself, and moves no global step."""

        def __init__(self):
            super().__init__(False, "Own")

        def apply_gradients(self, pairs, global_step=None, name=None):
            return tf.group(*[tf.assign(v, v - 0.1 * g) for g, v in pairs], name=name)

    return Own().minimize(weight * 1.0)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize(
    "train", [_momentum, _sparse, _descent_by_hand, _subtracted, _own_optimizer]
)
def test_every_kind_of_training_is_seen(tf, monkeypatch, train, resource):
    watch(monkeypatch, limit=100)
    weight = tf.get_variable("weight", initializer=0.0, use_resource=resource)
    operation = train(tf, weight)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(operation)
            session.run(weight)

    assert total() == 3


def test_with_global_step_only_its_updates_count(tf, monkeypatch):
    watch(monkeypatch, limit=100)
    step = tf.train.get_or_create_global_step()
    critic, maker = model(tf, scope="critic"), model(tf, step, scope="maker")

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            for _ in range(5):
                session.run(critic.train)
            session.run(maker.train)

    assert total() == 3


def test_a_step_prepared_as_a_callable_counts(tf, monkeypatch):
    watch(monkeypatch, limit=3)
    made = model(tf)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        step = session.make_callable([made.train, made.loss])
        values = [step()[1] for _ in range(10)]
        assert session.run(made.weight) == -3.0

    assert total() == 3
    assert values[-1] == values[2]


def test_no_limit_and_no_box_leave_sessions_alone(tf, monkeypatch):
    from tensorflow.python.client import session

    monkeypatch.delenv("DANLU_BOX", raising=False)
    before = session.BaseSession.run
    watch(monkeypatch)

    assert session.BaseSession.run is before


@pytest.mark.parametrize("text", ["0", "-3", "many"])
def test_a_limit_that_is_no_number_is_refused(monkeypatch, text):
    from danlu_runtime import steps

    monkeypatch.setenv("DANLU_MAX_STEPS", text)
    with pytest.raises(SystemExit, match="must be a number of steps from 1 on"):
        steps.install()
