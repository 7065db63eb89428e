"""`tf.contrib.learn.estimators`."""

from danlu_runtime.tf1.contrib.learn.estimators.constants import ProblemType
from danlu_runtime.tf1.contrib.learn.estimators.dnn import (
    DNNClassifier,
    DNNEstimator,
    DNNRegressor,
)
from danlu_runtime.tf1.contrib.learn.estimators.dnn_linear_combined import (
    DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator,
    DNNLinearCombinedRegressor,
)
from danlu_runtime.tf1.contrib.learn.estimators.estimator import (
    BaseEstimator,
    Estimator,
    SKCompat,
    infer_real_valued_columns_from_input,
    infer_real_valued_columns_from_input_fn,
)
from danlu_runtime.tf1.contrib.learn.estimators.head import (
    Head,
    binary_svm_head,
    loss_only_head,
    multi_class_head,
    multi_head,
    multi_label_head,
    no_op_train_fn,
    poisson_regression_head,
    regression_head,
)
from danlu_runtime.tf1.contrib.learn.estimators.linear import (
    LinearClassifier,
    LinearEstimator,
    LinearRegressor,
)
from danlu_runtime.tf1.contrib.learn.estimators.logistic_regressor import LogisticRegressor
from danlu_runtime.tf1.contrib.learn.estimators.metric_key import MetricKey
from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModeKeys, ModelFnOps
from danlu_runtime.tf1.contrib.learn.estimators.prediction_key import PredictionKey
from danlu_runtime.tf1.contrib.learn.estimators.run_config import (
    ClusterConfig,
    Environment,
    RunConfig,
    TaskType,
)

_RNN = "removed.rnn_estimator"
GONE = {
    "DynamicRnnEstimator": _RNN,
    "StateSavingRnnEstimator": _RNN,
    "KMeansClustering": "removed.kmeans",
    "GMM": "sklearn.mixture.GaussianMixture",
    "SVM": "removed.svm",
    "TensorForestEstimator": "sklearn.ensemble.RandomForestClassifier",
}
