"""tf.contrib.opt: optimizers beyond those of tf.train."""

from danlu_runtime.tf1.contrib.opt._update_rules import (
    AdaMaxOptimizer,
    AddSignOptimizer,
    LazyAdamOptimizer,
    NadamOptimizer,
    PowerSignOptimizer,
    get_cosine_decay_fn,
    get_linear_decay_fn,
    get_restart_decay_fn,
)
from danlu_runtime.tf1.contrib.opt._wrappers import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    MomentumWOptimizer,
    MovingAverageOptimizer,
    MultitaskOptimizerWrapper,
    VariableClippingOptimizer,
    clip_gradients_by_global_norm,
    extend_with_decoupled_weight_decay,
)
from danlu_runtime.tf1.contrib.opt.external_optimizer import (
    ExternalOptimizerInterface,
    ScipyOptimizerInterface,
)
from danlu_runtime.tf1.contrib.opt.lars_optimizer import LARSOptimizer

_LOCAL = "removed.averaging"
_ADAM = "tf.train.AdamOptimizer"
GONE = {
    "AGNOptimizer": _LOCAL,
    "AdamGSOptimizer": _ADAM,
    "DropStaleGradientOptimizer": "removed.stale_gradients",
    "ElasticAverageCustomGetter": _LOCAL,
    "ElasticAverageOptimizer": _LOCAL,
    "GGTOptimizer": _ADAM,
    "LazyAdamGSOptimizer": "tf.contrib.opt.LazyAdamOptimizer",
    "ModelAverageCustomGetter": _LOCAL,
    "ModelAverageOptimizer": _LOCAL,
    "RegAdagradOptimizer": "tf.train.AdagradOptimizer",
    "ShampooOptimizer": _ADAM,
}
