"""`tensorflow.examples`: the parts of TensorFlow's examples that scripts imported."""
