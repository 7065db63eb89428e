"""tf.contrib.lite: today's tf.lite."""

import tensorflow.compat.v1 as tf

Interpreter = tf.lite.Interpreter
OpHint = tf.lite.OpHint
OpsSet = tf.lite.OpsSet
Optimize = tf.lite.Optimize
RepresentativeDataset = tf.lite.RepresentativeDataset
TFLiteConverter = tf.lite.TFLiteConverter
TargetSpec = tf.lite.TargetSpec
TocoConverter = tf.lite.TocoConverter
constants = tf.lite.constants
toco_convert = tf.lite.toco_convert

__all__ = [
    "Interpreter",
    "OpHint",
    "OpsSet",
    "Optimize",
    "RepresentativeDataset",
    "TFLiteConverter",
    "TargetSpec",
    "TocoConverter",
    "constants",
    "toco_convert",
]
