"""The feature columns of ``tf.contrib.layers``, of before ``tf.feature_column``.

They keep the names, fields and keys they had, because input layers are put together in the order
of the keys, and they follow the protocols of ``tf.feature_column`` too: ``input_layer`` and the
estimators take them.
"""
