"""tf.contrib.distributions.bijectors: invertible functions with their Jacobians."""

from tensorflow.python.ops.distributions.identity_bijector import Identity

from danlu_runtime.tf1.contrib.distributions.bijectors.base import Bijector
from danlu_runtime.tf1.contrib.distributions.bijectors.composed import Chain, Inline, Invert
from danlu_runtime.tf1.contrib.distributions.bijectors.elementwise import (
    AffineScalar,
    Exp,
    PowerTransform,
    Sigmoid,
    Softplus,
    Softsign,
)
from danlu_runtime.tf1.contrib.distributions.bijectors.flows import (
    RealNVP,
    real_nvp_default_template,
)
from danlu_runtime.tf1.contrib.distributions.bijectors.vectors import (
    Affine,
    Permute,
    Reshape,
    SoftmaxCentered,
)

__all__ = [
    "Affine",
    "AffineScalar",
    "Bijector",
    "Chain",
    "Exp",
    "Identity",
    "Inline",
    "Invert",
    "Permute",
    "PowerTransform",
    "RealNVP",
    "Reshape",
    "Sigmoid",
    "SoftmaxCentered",
    "Softplus",
    "Softsign",
    "real_nvp_default_template",
]

_FLOW = "Use RealNVP, or write the flow as a subclass of Bijector."
GONE = {
    "BatchNormalization": _FLOW,
    "MaskedAutoregressiveFlow": _FLOW,
    "masked_autoregressive_default_template": _FLOW,
    "masked_dense": _FLOW,
}
