"""Networks by name. TensorFlow is loaded when a network is built.

``nets_factory``: ``mox.get_model_fn`` and ``mox.get_model_meta``. ``zoo``: the table of networks.
``building``: the preparation of pictures and the call of a network's builder.
``layers``: layers in both data layouts, with convolutions of groups of channels.
``plain``, ``inception``, ``mobilenet``, ``nasnet``, ``resnet``, ``xception``: the networks.
"""

from moxing.tensorflow.nets.nets_factory import (
    NetworkKeys,
    default_preprocess_fn,
    get_model_fn,
    get_model_meta,
)

__all__ = ["NetworkKeys", "default_preprocess_fn", "get_model_fn", "get_model_meta"]
