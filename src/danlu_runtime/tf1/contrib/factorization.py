"""`tf.contrib.factorization`: k-means; the other factorizations lost their compiled operations."""

from tensorflow.python.ops import clustering_ops

from danlu_runtime.tf1.estimator import private

__all__ = [
    "COSINE_DISTANCE",
    "KMEANS_PLUS_PLUS_INIT",
    "RANDOM_INIT",
    "SQUARED_EUCLIDEAN_DISTANCE",
    "KMeans",
    "KMeansClustering",
]

COSINE_DISTANCE = clustering_ops.COSINE_DISTANCE
KMEANS_PLUS_PLUS_INIT = clustering_ops.KMEANS_PLUS_PLUS_INIT
KMeans = clustering_ops.KMeans
RANDOM_INIT = clustering_ops.RANDOM_INIT
SQUARED_EUCLIDEAN_DISTANCE = clustering_ops.SQUARED_EUCLIDEAN_DISTANCE
KMeansClustering = private("canned.kmeans").KMeansClustering

_WALS = "Use scipy.sparse.linalg.svds, or train the factors with tf.train optimizers."
_MIXTURE = "Use sklearn.mixture.GaussianMixture."
GONE = {
    "WALSMatrixFactorization": _WALS,
    "WALSModel": _WALS,
    "GMM": _MIXTURE,
    "GmmAlgorithm": _MIXTURE,
    "gmm": _MIXTURE,
}
