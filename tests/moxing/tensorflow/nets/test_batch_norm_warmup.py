"""Statistics of batches that follow fast at first, for trainings of a few hundred steps."""

import pytest


def moving_mean_after_a_step(tf, follow):
    from moxing.tensorflow.nets.layers import BatchNorm, BuildOptions, batch_norm

    with tf.Graph().as_default(), tf.Session() as session:
        pictures = tf.constant([2.0, 4.0], shape=[2, 1, 1, 1])
        batch_norm(
            pictures, BuildOptions(is_training=True, fused=True, follow=follow), BatchNorm(0.9)
        )
        session.run(tf.global_variables_initializer())
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        (mean,) = (v for v in tf.global_variables() if v.op.name.endswith("moving_mean"))
        return session.run(mean)[0]


@pytest.mark.parametrize(("follow", "mean"), [(None, 0.3), (0.5, 1.5), (0.01, 0.3)])
def test_the_larger_share_decides(tf, follow, mean):
    assert moving_mean_after_a_step(tf, follow) == pytest.approx(mean)


@pytest.mark.parametrize(("step", "share"), [(0, 0.9), (80, 0.1), (8990, 0.001)])
def test_the_share_falls_with_the_steps(tf, step, share):
    from moxing.tensorflow.nets.building import _share

    with tf.Graph().as_default(), tf.Session() as session:
        found = _share()
        session.run(tf.train.get_global_step().assign(step))
        assert session.run(found) == pytest.approx(share)


def test_only_network_that_was_asked_to_warms_up(tf):
    import moxing.tensorflow as mox

    for asked in (True, False):
        with tf.Graph().as_default() as graph:
            network = mox.get_model_fn("resnet_v1_20", "TRAIN", 10, batch_norm_warmup=asked)
            network(tf.zeros([2, 32, 32, 3]))
        assert (tf.train.get_global_step(graph) is not None) is asked
