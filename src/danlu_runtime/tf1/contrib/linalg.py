"""tf.contrib.linalg: the linear operators, today in tf.linalg."""

import tensorflow.compat.v1 as tf

LinearOperator = tf.linalg.LinearOperator
LinearOperatorBlockDiag = tf.linalg.LinearOperatorBlockDiag
LinearOperatorCirculant = tf.linalg.LinearOperatorCirculant
LinearOperatorCirculant2D = tf.linalg.LinearOperatorCirculant2D
LinearOperatorCirculant3D = tf.linalg.LinearOperatorCirculant3D
LinearOperatorComposition = tf.linalg.LinearOperatorComposition
LinearOperatorDiag = tf.linalg.LinearOperatorDiag
LinearOperatorFullMatrix = tf.linalg.LinearOperatorFullMatrix
LinearOperatorIdentity = tf.linalg.LinearOperatorIdentity
LinearOperatorKronecker = tf.linalg.LinearOperatorKronecker
LinearOperatorLowRankUpdate = tf.linalg.LinearOperatorLowRankUpdate
LinearOperatorLowerTriangular = tf.linalg.LinearOperatorLowerTriangular
LinearOperatorScaledIdentity = tf.linalg.LinearOperatorScaledIdentity
LinearOperatorToeplitz = tf.linalg.LinearOperatorToeplitz
LinearOperatorZeros = tf.linalg.LinearOperatorZeros

__all__ = [
    "LinearOperator",
    "LinearOperatorBlockDiag",
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorIdentity",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorZeros",
]
