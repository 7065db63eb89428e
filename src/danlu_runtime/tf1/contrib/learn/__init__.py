"""`tf.contrib.learn`: the estimators of before `tf.estimator`, their data and their exports."""

from danlu_runtime.tf1.contrib.learn import (
    datasets,
    export_strategy,
    learn_runner,
    metric_spec,
    monitors,
    preprocessing,
    trainable,
    utils,
)
from danlu_runtime.tf1.contrib.learn import estimators as _estimators
from danlu_runtime.tf1.contrib.learn import learn_io as io
from danlu_runtime.tf1.contrib.learn.estimators import (
    BaseEstimator,
    ClusterConfig,
    DNNClassifier,
    DNNEstimator,
    DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator,
    DNNLinearCombinedRegressor,
    DNNRegressor,
    Environment,
    Estimator,
    Head,
    LinearClassifier,
    LinearEstimator,
    LinearRegressor,
    LogisticRegressor,
    MetricKey,
    ModeKeys,
    ModelFnOps,
    PredictionKey,
    ProblemType,
    RunConfig,
    SKCompat,
    TaskType,
    binary_svm_head,
    estimator,
    infer_real_valued_columns_from_input,
    infer_real_valued_columns_from_input_fn,
    loss_only_head,
    multi_class_head,
    multi_head,
    multi_label_head,
    no_op_train_fn,
    poisson_regression_head,
    regression_head,
)
from danlu_runtime.tf1.contrib.learn.experiment import Experiment
from danlu_runtime.tf1.contrib.learn.export_strategy import ExportStrategy
from danlu_runtime.tf1.contrib.learn.learn_io import (
    extract_dask_data,
    extract_dask_labels,
    extract_pandas_data,
    extract_pandas_labels,
    extract_pandas_matrix,
    read_batch_examples,
    read_batch_features,
    read_batch_record_features,
    read_keyed_batch_examples,
    read_keyed_batch_features,
)
from danlu_runtime.tf1.contrib.learn.metric_spec import MetricSpec
from danlu_runtime.tf1.contrib.learn.monitors import NanLossDuringTrainingError
from danlu_runtime.tf1.contrib.learn.trainable import Evaluable, Trainable
from danlu_runtime.tf1.contrib.learn.utils import (
    InputFnOps,
    build_default_serving_input_fn,
    build_parsing_serving_input_fn,
    make_export_strategy,
)

# Names that scripts of 2016 have for the same classes.
TensorFlowEstimator = Estimator


_LOOPS = "removed.learn_loops"
GONE = _estimators.GONE | {
    "train": _LOOPS,
    "evaluate": _LOOPS,
    "infer": _LOOPS,
    "run_n": _LOOPS,
    "run_feeds": _LOOPS,
    "graph_actions": _LOOPS,
}
