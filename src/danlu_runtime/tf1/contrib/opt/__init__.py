"""tf.contrib.opt: optimizers beyond those of tf.train."""

from danlu_runtime.tf1.contrib.opt.adam_family import (
    AdaMaxOptimizer,
    LazyAdamOptimizer,
    NadamOptimizer,
)
from danlu_runtime.tf1.contrib.opt.external_optimizer import (
    ExternalOptimizerInterface,
    ScipyOptimizerInterface,
)
from danlu_runtime.tf1.contrib.opt.lars_optimizer import LARSOptimizer
from danlu_runtime.tf1.contrib.opt.sign import (
    AddSignOptimizer,
    PowerSignOptimizer,
    get_cosine_decay_fn,
    get_linear_decay_fn,
    get_restart_decay_fn,
)
from danlu_runtime.tf1.contrib.opt.weight_decay import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)
from danlu_runtime.tf1.contrib.opt.wrapped import (
    MovingAverageOptimizer,
    MultitaskOptimizerWrapper,
    VariableClippingOptimizer,
    clip_gradients_by_global_norm,
)

_LOCAL = "Use tf.train.SyncReplicasOptimizer, or tf.contrib.opt.MovingAverageOptimizer alone."
_ADAM = "Use tf.train.AdamOptimizer."
GONE = {
    "AGNOptimizer": _LOCAL,
    "AdamGSOptimizer": _ADAM,
    "DropStaleGradientOptimizer": "Use tf.train.SyncReplicasOptimizer: it drops them.",
    "ElasticAverageCustomGetter": _LOCAL,
    "ElasticAverageOptimizer": _LOCAL,
    "GGTOptimizer": _ADAM,
    "LazyAdamGSOptimizer": "Use tf.contrib.opt.LazyAdamOptimizer.",
    "ModelAverageCustomGetter": _LOCAL,
    "ModelAverageOptimizer": _LOCAL,
    "RegAdagradOptimizer": "Use tf.train.AdagradOptimizer.",
    "ShampooOptimizer": _ADAM,
}

__all__ = [
    "AdaMaxOptimizer",
    "AdamWOptimizer",
    "AddSignOptimizer",
    "DecoupledWeightDecayExtension",
    "ExternalOptimizerInterface",
    "LARSOptimizer",
    "LazyAdamOptimizer",
    "MomentumWOptimizer",
    "MovingAverageOptimizer",
    "MultitaskOptimizerWrapper",
    "NadamOptimizer",
    "PowerSignOptimizer",
    "ScipyOptimizerInterface",
    "VariableClippingOptimizer",
    "clip_gradients_by_global_norm",
    "extend_with_decoupled_weight_decay",
    "get_cosine_decay_fn",
    "get_linear_decay_fn",
    "get_restart_decay_fn",
]
