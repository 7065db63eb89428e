"""tf.contrib.distributions: what ``tf.distributions`` has, and the others that scripts use."""

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.distributions.beta import BetaWithSoftplusConcentration
from tensorflow.python.ops.distributions.exponential import ExponentialWithSoftplusRate
from tensorflow.python.ops.distributions.gamma import GammaWithSoftplusConcentrationRate
from tensorflow.python.ops.distributions.laplace import LaplaceWithSoftplusScale
from tensorflow.python.ops.distributions.normal import NormalWithSoftplusScale
from tensorflow.python.ops.distributions.student_t import StudentTWithAbsDfSoftplusScale
from tensorflow.python.ops.distributions.util import (
    fill_triangular,
    fill_triangular_inverse,
    matrix_diag_transform,
    reduce_weighted_logsumexp,
    softplus_inverse,
    tridiag,
)

from danlu_runtime.tf1.contrib.distributions import bijectors
from danlu_runtime.tf1.contrib.distributions._categorical import (
    ExpRelaxedOneHotCategorical,
    OneHotCategorical,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from danlu_runtime.tf1.contrib.distributions._combined import (
    Independent,
    Mixture,
    MixtureSameFamily,
    TransformedDistribution,
)
from danlu_runtime.tf1.contrib.distributions._multivariate_normal import (
    MultivariateNormalDiag,
    MultivariateNormalDiagWithSoftplusScale,
    MultivariateNormalFullCovariance,
    MultivariateNormalTriL,
)
from danlu_runtime.tf1.contrib.distributions._scalar import (
    Binomial,
    Chi2,
    Deterministic,
    Geometric,
    Gumbel,
    HalfNormal,
    Logistic,
    Poisson,
)
from danlu_runtime.tf1.contrib.distributions._statistics import (
    assign_moving_mean_variance,
    percentile,
)

Bernoulli = tf.distributions.Bernoulli
Beta = tf.distributions.Beta
Categorical = tf.distributions.Categorical
Dirichlet = tf.distributions.Dirichlet
DirichletMultinomial = tf.distributions.DirichletMultinomial
Distribution = tf.distributions.Distribution
Exponential = tf.distributions.Exponential
FULLY_REPARAMETERIZED = tf.distributions.FULLY_REPARAMETERIZED
Gamma = tf.distributions.Gamma
Laplace = tf.distributions.Laplace
Multinomial = tf.distributions.Multinomial
NOT_REPARAMETERIZED = tf.distributions.NOT_REPARAMETERIZED
Normal = tf.distributions.Normal
RegisterKL = tf.distributions.RegisterKL
ReparameterizationType = tf.distributions.ReparameterizationType
StudentT = tf.distributions.StudentT
Uniform = tf.distributions.Uniform
kl_divergence = tf.distributions.kl_divergence

_OWN = "removed.own_distribution"
_NORMAL = "removed.low_rank"
GONE = {
    "Autoregressive": _OWN,
    "InverseGamma": "removed.inverse_gamma",
    "Kumaraswamy": "Beta",
    "MultivariateNormalDiagPlusLowRank": _NORMAL,
    "MultivariateStudentTLinearOperator": _OWN,
    "NegativeBinomial": "removed.negative_binomial",
    "QuantizedDistribution": _OWN,
    "SinhArcsinh": _OWN,
    "VectorDiffeomixture": "MixtureSameFamily",
    "WishartCholesky": _OWN,
    "WishartFull": _OWN,
    "estimator_head_distribution_regression": "removed.own_model_fn",
}
