"""``tf.contrib.slim.nets.resnet_v2``: tf-slim 1.1, with ``spatial_squeeze`` accepted."""

from tf_slim.nets import resnet_utils
from tf_slim.nets import resnet_v2 as _slim
from tf_slim.nets.resnet_v2 import bottleneck, resnet_arg_scope, resnet_v2_block

from danlu_runtime.tf1.contrib.slim.nets._squeeze import accepting_spatial_squeeze

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_utils",
    "resnet_v2",
    "resnet_v2_50",
    "resnet_v2_101",
    "resnet_v2_152",
    "resnet_v2_200",
    "resnet_v2_block",
]

resnet_v2 = accepting_spatial_squeeze(_slim.resnet_v2)
resnet_v2_50 = accepting_spatial_squeeze(_slim.resnet_v2_50)
resnet_v2_101 = accepting_spatial_squeeze(_slim.resnet_v2_101)
resnet_v2_152 = accepting_spatial_squeeze(_slim.resnet_v2_152)
resnet_v2_200 = accepting_spatial_squeeze(_slim.resnet_v2_200)
