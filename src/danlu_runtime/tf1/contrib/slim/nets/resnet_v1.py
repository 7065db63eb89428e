"""``tf.contrib.slim.nets.resnet_v1``: tf-slim 1.1, with ``spatial_squeeze`` accepted."""

from tf_slim.nets import resnet_utils
from tf_slim.nets import resnet_v1 as _slim
from tf_slim.nets.resnet_v1 import bottleneck, resnet_arg_scope, resnet_v1_block

from danlu_runtime.tf1.contrib.slim.nets._squeeze import accepting_spatial_squeeze

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_utils",
    "resnet_v1",
    "resnet_v1_50",
    "resnet_v1_101",
    "resnet_v1_152",
    "resnet_v1_200",
    "resnet_v1_block",
]

resnet_v1 = accepting_spatial_squeeze(_slim.resnet_v1)
resnet_v1_50 = accepting_spatial_squeeze(_slim.resnet_v1_50)
resnet_v1_101 = accepting_spatial_squeeze(_slim.resnet_v1_101)
resnet_v1_152 = accepting_spatial_squeeze(_slim.resnet_v1_152)
resnet_v1_200 = accepting_spatial_squeeze(_slim.resnet_v1_200)
