"""`tf.contrib.learn.utils`."""

from danlu_runtime.tf1.contrib.learn.utils import (
    export,
    gc,
    input_fn_utils,
    saved_model_export_utils,
)
from danlu_runtime.tf1.contrib.learn.utils.export import export_estimator
from danlu_runtime.tf1.contrib.learn.utils.input_fn_utils import (
    InputFnOps,
    build_default_serving_input_fn,
    build_parsing_serving_input_fn,
)
from danlu_runtime.tf1.contrib.learn.utils.saved_model_export_utils import (
    build_standardized_signature_def,
    make_best_model_export_strategy,
    make_export_strategy,
    make_parsing_export_strategy,
)
