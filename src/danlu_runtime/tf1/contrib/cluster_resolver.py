"""`tf.contrib.cluster_resolver`: finds the other tasks of a cluster."""

import tensorflow.compat.v1 as tf

__all__ = [
    "ClusterResolver",
    "GCEClusterResolver",
    "KubernetesClusterResolver",
    "SimpleClusterResolver",
    "SlurmClusterResolver",
    "TFConfigClusterResolver",
    "UnionClusterResolver",
]

_resolvers = tf.distribute.cluster_resolver
ClusterResolver = _resolvers.ClusterResolver
GCEClusterResolver = _resolvers.GCEClusterResolver
KubernetesClusterResolver = _resolvers.KubernetesClusterResolver
SimpleClusterResolver = _resolvers.SimpleClusterResolver
SlurmClusterResolver = _resolvers.SlurmClusterResolver
TFConfigClusterResolver = _resolvers.TFConfigClusterResolver
UnionClusterResolver = _resolvers.UnionResolver

GONE = {"TPUClusterResolver": "There is no TPU here; run the script with its use_tpu flag off."}
