"""Modules that scripts import from MoXing by these names.

``hyper_param_flags``: ``mox_flags``, the flags of MoXing. ``tf_util``: the TensorFlow version.
"""
