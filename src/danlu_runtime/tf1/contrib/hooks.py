"""tf.contrib.hooks: the hook that writes timelines, today in tf.train."""

import tensorflow.compat.v1 as tf

ProfilerHook = tf.train.ProfilerHook

__all__ = ["ProfilerHook"]
