"""tf.contrib: one module per submodule, written on what TensorFlow 2.21 and tf-slim still have.

``GONE`` names the submodules that cannot be had any more, with what to use instead.
"""

_FORESTS = "Use sklearn.ensemble.RandomForestClassifier or RandomForestRegressor."
GONE: dict[str, str] = {
    "boosted_trees": "Use sklearn.ensemble.HistGradientBoostingClassifier, or xgboost.",
    "tensor_forest": _FORESTS,
}
