"""Estimators for TensorFlow 1 and 2 scripts. This package does not import TensorFlow.

``estimator``: the class TensorFlow. ``board``: TensorBoard while ``fit`` waits.
"""

from ti.tensorflow.estimator import TensorFlow

# The service's page writes it both ways.
Tensorflow = TensorFlow

__all__ = ["TensorFlow", "Tensorflow"]
