"""``tf.contrib.framework``: variables, argument scopes, checkpoints and checks on tensors."""

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
from tf_slim.ops import variables
from tf_slim.ops.arg_scope import *
from tf_slim.ops.framework_ops import *
from tf_slim.ops.variables import *

from danlu_runtime.tf1.contrib.framework import (
    checkpoint_ops,
    checkpoint_utils,
    graph_util,
    script_ops,
    tensor_util,
)
from danlu_runtime.tf1.contrib.framework._variables import assign_from_checkpoint, zero_initializer
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
from danlu_runtime.tf1.contrib.framework.script_ops import py_func
from danlu_runtime.tf1.contrib.framework.tensor_util import (
    assert_scalar_int,
    reduce_sum_n,
    remove_squeezable_dimensions,
    with_same_shape,
    with_shape,
)
