"""One global step is one update from all workers, and a run ends for all of them."""

import numpy as np
import pytest


def samples(index, batch, workers):
    """The features and labels of one worker's batches, as a whole batch is cut into parts."""
    rng = np.random.RandomState(7)
    x = rng.rand(40, batch * workers, 4).astype(np.float32)
    y = (x @ np.array([1.0, -2.0, 0.5, 3.0], np.float32))[..., None]
    mine = slice(index * batch, (index + 1) * batch)
    return x[:, mine], y[:, mine]


def trains(make_optimizer, batch=4, steps=12, data=40, loss_of=None):
    """Return a program of a worker or a server; a worker returns what became of it."""

    def program():
        import tensorflow.compat.v1 as tf

        from moxing.tensorflow.executor.cluster import Cluster

        cluster = Cluster.of_flags()
        if cluster.is_server:
            cluster.serve()
            return None
        target_x, target_y = samples(cluster.index, batch, len(cluster.workers))
        with tf.Graph().as_default(), cluster.building(), tf.device(cluster.devices()):
            step = tf.train.get_or_create_global_step()
            rows = tf.data.Dataset.from_tensor_slices((target_x[:data], target_y[:data]))
            iterator = tf.data.make_initializable_iterator(rows)
            tf.add_to_collection(tf.GraphKeys.LOCAL_INIT_OP, iterator.initializer)
            x, y = iterator.get_next()
            if loss_of is None:
                weights = tf.get_variable(
                    "weights", [4, 1], initializer=tf.zeros_initializer(), use_resource=True
                )
                loss = tf.reduce_mean(tf.square(x @ weights - y))
            else:
                weights, loss = loss_of(x, y)
            optimizer, hooks = cluster.synchronized(make_optimizer())
            train = optimizer.apply_gradients(optimizer.compute_gradients(loss), step)
            with tf.control_dependencies([train]):
                done = step.read_value()
            scaffold = tf.train.Scaffold(
                local_init_op=tf.group(tf.local_variables_initializer(), iterator.initializer)
            )
            seen = []
            with cluster.session(scaffold, tf.ConfigProto(), hooks) as session:
                print("ready", flush=True)
                while not session.should_stop() and (not seen or seen[-1] < steps):
                    seen.append(int(session.run(done)))
                values = session.run(weights)
        return seen, np.asarray(values)

    return program


def sgd():
    import tensorflow.compat.v1 as tf

    return tf.train.GradientDescentOptimizer(0.1)


def test_two_workers_are_one_with_the_whole_batch(tf, new_site):
    program = trains(sgd)
    two = new_site()
    servers, workers = two.begin_all(program)
    codes = [task.waits() for task in (*workers, *servers)]
    one = new_site(workers=1)
    _, (alone,) = one.begin_all(trains(sgd, batch=8))
    alone.waits()

    assert codes == [0, 0, 0], workers[0].text
    assert [task.value[0] for task in workers] == [list(range(1, 13))] * 2
    assert workers[0].value[1] == pytest.approx(alone.value[1], abs=1e-6)
