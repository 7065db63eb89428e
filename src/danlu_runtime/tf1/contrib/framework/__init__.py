"""``tf.contrib.framework``: variables, argument scopes, checkpoints and checks on tensors."""

# ruff: noqa: F401  the names are what this module is for

import danlu_runtime.tf1.tf_slim_import  # isort: split

from tensorflow.compat.v1 import (
    TensorSpec,
    argsort,
    is_non_decreasing,
    is_numeric_tensor,
    is_strictly_increasing,
    is_tensor,
    sort,
)
from tensorflow.python.framework.ops import prepend_name_scope, strip_name_scope
from tensorflow.python.framework.smart_cond import smart_case, smart_cond, smart_constant_value
from tensorflow.python.framework.sparse_tensor import convert_to_tensor_or_sparse_tensor
from tensorflow.python.framework.tensor import BoundedTensorSpec
from tensorflow.python.ops.check_ops import assert_same_float_dtype, assert_scalar
from tensorflow.python.ops.data_flow_ops import RecordInput
from tensorflow.python.ops.init_ops import (
    convolutional_delta_orthogonal,
    convolutional_orthogonal_1d,
    convolutional_orthogonal_2d,
    convolutional_orthogonal_3d,
)
from tensorflow.python.util import nest
from tensorflow.python.util.deprecation import (
    deprecated,
    deprecated_arg_values,
    deprecated_args,
)
from tf_slim.ops.arg_scope import (
    add_arg_scope,
    arg_scope,
    arg_scope_func_key,
    arg_scoped_arguments,
    current_arg_scope,
    has_arg_scope,
)
from tf_slim.ops.framework_ops import get_graph_from_inputs, get_name_scope
from tf_slim.ops.variables import (
    VariableDeviceChooser,
    add_model_variable,
    assert_global_step,
    assert_or_get_global_step,
    assign_from_checkpoint_fn,
    assign_from_values,
    assign_from_values_fn,
    create_global_step,
    filter_variables,
    get_global_step,
    get_local_variables,
    get_model_variables,
    get_or_create_global_step,
    get_trainable_variables,
    get_unique_variable,
    get_variable_full_name,
    get_variables,
    get_variables_by_name,
    get_variables_by_suffix,
    get_variables_to_restore,
    global_variable,
    local_variable,
    model_variable,
    variable,
)

from danlu_runtime.tf1.contrib.framework import (
    checkpoint_ops,
    checkpoint_utils,
    graph_util,
    script_ops,
    tensor_util,
    variables,
)
from danlu_runtime.tf1.contrib.framework.checkpoint_ops import (
    load_and_remap_matrix_initializer,
    load_embedding_initializer,
    load_linear_multiclass_bias_initializer,
    load_variable_slot_initializer,
)
from danlu_runtime.tf1.contrib.framework.checkpoint_utils import (
    init_from_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from danlu_runtime.tf1.contrib.framework.graph_util import fuse_op, get_placeholders
from danlu_runtime.tf1.contrib.framework.restoring import assign_from_checkpoint
from danlu_runtime.tf1.contrib.framework.script_ops import py_func
from danlu_runtime.tf1.contrib.framework.tensor_util import (
    assert_scalar_int,
    reduce_sum_n,
    remove_squeezable_dimensions,
    with_same_shape,
    with_shape,
)
from danlu_runtime.tf1.contrib.framework.zero import zero_initializer
