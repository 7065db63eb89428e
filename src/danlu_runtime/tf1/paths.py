"""Which module a path below ``tensorflow`` means in TensorFlow 1.

The finder asks for every name that is not loaded yet; None leaves it to Python's own finders.
"""

import importlib
from types import ModuleType

from danlu_runtime.finder import import_if_there

# Folders of the installed package: its own modules live there under the same names.
_OWN = frozenset(
    ("_api", "compat", "compiler", "core", "distribute", "dtensor", "lite", "python", "tools")
)
_V1 = "tensorflow._api.v2.compat.v1"
_KERAS = "tf_keras.api._v1.keras"
_EXAMPLES = "danlu_runtime.tf1.examples"
# Modules of TensorFlow's inside that moved or were misspelt in print.
_MOVED = {
    "python.util.compact": "tensorflow.python.util.compat",  # the KDL manual's spelling
    "python.ops.rnn_cell": "tensorflow.compat.v1.nn.rnn_cell",
    "python.ops.seq2seq": "danlu_runtime.tf1.contrib.legacy_seq2seq",
    "python.ops.spectral_ops": "tensorflow.compat.v1.signal",
    "python.summary.event_accumulator": "tensorboard.backend.event_processing.event_accumulator",
    "python.training.checkpointable": "tensorflow.python.trackable",
    "python.training.distribute": "tensorflow.python.distribute.distribute_lib",
    "python.training.distribution_strategy_context": "tensorflow.python.distribute.distribute_lib",
    "python.training.learning_rate_decay_v2": "tensorflow.python.training.learning_rate_decay",
    "python.training.tracking": "tensorflow.python.trackable",
    "python.training.training_ops": "tensorflow.python.ops.gen_training_ops",
    "python.platform.default._flags": "tensorflow.python.platform.flags",
}


def resolve(name: str) -> ModuleType | None:
    """Return the module served as ``name``; None where the installed one is right."""
    if name == "tensorflow":
        return None
    path = name.removeprefix("tensorflow.")
    first, _, rest = path.partition(".")
    if first == "contrib":
        from danlu_runtime.tf1.view import contrib

        return contrib(rest.split(".") if rest else [])
    if first == "estimator":
        return _estimator(rest)
    if first == "keras":
        from danlu_runtime.keras2 import below

        return below(_KERAS, rest)
    if first == "examples":
        return import_if_there(f"{_EXAMPLES}.{rest}" if rest else _EXAMPLES)
    if first == "python":
        return _private(path)
    if path.startswith("compat.v1."):
        # Found by its file it would be a second module, without what was put back into the first.
        path = path.removeprefix("compat.v1.")
    elif first in _OWN:
        return None
    return import_if_there(f"{_V1}.{path}")


def _private(path: str) -> ModuleType | None:
    if path in _MOVED:
        return importlib.import_module(_MOVED[path])
    if path == "python.estimator" or path.startswith("python.estimator."):
        from danlu_runtime.tf1.estimator import private

        return private(path.removeprefix("python.estimator").lstrip("."))
    return None


def _estimator(rest: str) -> ModuleType | None:
    from danlu_runtime.tf1.estimator import public

    return public(rest)
