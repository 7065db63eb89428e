"""``tf.contrib.slim.nets``: the networks tf-slim has, by module."""

from tf_slim.nets import (
    alexnet,
    inception,
    inception_v1,
    inception_v2,
    inception_v3,
    overfeat,
    resnet_utils,
    vgg,
)

from danlu_runtime.tf1.contrib.slim.nets import resnet_v1, resnet_v2
