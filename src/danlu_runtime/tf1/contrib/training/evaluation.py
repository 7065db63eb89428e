"""``tf.contrib.training.python.training.evaluation``: tf-slim 1.1 has it unchanged."""

import sys
from importlib import import_module

# The module itself and no copy of its public names: scripts use its private ones too.
sys.modules[__name__] = import_module("tf_slim.training.evaluation")
