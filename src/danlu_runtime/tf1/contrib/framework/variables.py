"""``tf.contrib.framework.python.ops.variables``: tf-slim 1.1 has it but for two."""

import sys
from importlib import import_module

from danlu_runtime.tf1.contrib.framework.restoring import assign_from_checkpoint
from danlu_runtime.tf1.contrib.framework.zero import zero_initializer

# The module itself and no copy of its public names: scripts use its private ones too.
_variables = import_module("tf_slim.ops.variables")
_variables.assign_from_checkpoint = assign_from_checkpoint
_variables.zero_initializer = zero_initializer
sys.modules[__name__] = _variables
