"""tf.contrib.tfprof: counts of parameters and of floating-point operations."""

from danlu_runtime.tf1.contrib.tfprof import model_analyzer
