"""TensorFlow scripts, of both generations. No TensorFlow is imported: the script does that."""

from ti.tensorflow.estimator import TensorFlow

# The service's page writes it both ways.
Tensorflow = TensorFlow

__all__ = ["TensorFlow", "Tensorflow"]
