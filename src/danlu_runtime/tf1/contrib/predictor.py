"""`tf.contrib.predictor`: a model behind a call, from a SavedModel or an estimator."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModeKeys
from danlu_runtime.tf1.contrib.learn.utils import saved_model_export_utils as naming

__all__ = ["Predictor", "from_contrib_estimator", "from_estimator", "from_saved_model"]

_DEFAULT = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class Predictor:
    """Call it with a dict of arrays by input name; it returns a dict of arrays by output name."""

    def __init__(
        self,
        graph: Any,
        session: Any,
        feed_tensors: Mapping[str, Any],
        fetch_tensors: Mapping[str, Any],
    ) -> None:
        self._graph = graph
        self._session = session
        self._feed_tensors = dict(feed_tensors)
        self._fetch_tensors = dict(fetch_tensors)

    @property
    def graph(self) -> Any:
        return self._graph

    @property
    def session(self) -> Any:
        return self._session

    @property
    def feed_tensors(self) -> dict[str, Any]:
        return self._feed_tensors

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        return self._fetch_tensors

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} with feed tensors {self._feed_tensors} "
            f"and fetch_tensors {self._fetch_tensors}"
        )

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Run the model.

        Raises:
            ValueError: an input is not one of the model's.
        """
        unknown = sorted(input_dict.keys() - self._feed_tensors.keys())
        if unknown:
            raise ValueError(
                f"Got unexpected keys in input_dict: {unknown}\n"
                f"expected: {sorted(self._feed_tensors)}"
            )
        feeds = {self._feed_tensors[key]: value for key, value in input_dict.items()}
        return self._session.run(self._fetch_tensors, feed_dict=feeds)


def from_saved_model(
    export_dir: Any,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: str | None = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """Return a Predictor of a SavedModel; tensors by signature, or by names given."""
    if (input_names is None) != (output_names is None):
        raise ValueError("input_names and output_names must both be specified, or neither.")
    if sum(given is not None for given in (signature_def_key, signature_def, input_names)) > 1:
        raise ValueError(
            "You must specify at most one of signature_def_key OR signature_def OR "
            "(input_names AND output_names)."
        )
    graph = graph or tf.Graph()
    with graph.as_default():
        session = tf.Session(config=config)
        names = (tags or tf.saved_model.tag_constants.SERVING).split(",")
        meta = tf.saved_model.loader.load(session, names, tf.compat.as_text(export_dir))
    if input_names is None:
        signature = signature_def or _signature(meta, signature_def_key or _DEFAULT)
        input_names = {key: info.name for key, info in signature.inputs.items()}
        output_names = {key: info.name for key, info in signature.outputs.items()}
    return Predictor(
        graph,
        session,
        {key: graph.get_tensor_by_name(name) for key, name in input_names.items()},
        {key: graph.get_tensor_by_name(name) for key, name in (output_names or {}).items()},
    )


def _signature(meta: Any, key: str) -> Any:
    if key not in meta.signature_def:
        raise ValueError(
            f'Got signature_def_key "{key}". Available signatures are '
            f"{sorted(meta.signature_def)}. Original error: no such signature."
        )
    return meta.signature_def[key]


def from_estimator(
    estimator: Any,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """Return a Predictor of a `tf.estimator.Estimator`'s latest checkpoint."""
    if not hasattr(estimator, "latest_checkpoint"):
        raise TypeError(
            "Expected estimator to be of type tf.estimator.Estimator, but got type "
            f"{type(estimator)}. Use from_contrib_estimator for tf.contrib.learn's."
        )
    graph = graph or tf.Graph()
    with graph.as_default():
        tf.train.create_global_step()
        receiver = serving_input_receiver_fn()
        spec = estimator.model_fn(receiver.features, None, ModeKeys.INFER, estimator.config)
        session = _restored(estimator.latest_checkpoint(), spec.scaffold, config)
        outputs = spec.predictions
        if output_key is not None:
            outputs = _export_output(spec.export_outputs or {}, output_key)
    return Predictor(graph, session, receiver.receiver_tensors, outputs)


def _export_output(outputs: Mapping[str, Any], key: str) -> dict[str, Any]:
    if key not in outputs:
        raise KeyError(f"Expected output_key {key!r} to be one of {sorted(outputs)}.")
    output = outputs[key]
    if hasattr(output, "outputs"):
        return dict(output.outputs)
    if hasattr(output, "value"):
        return {"value": output.value}
    return {
        name: tensor
        for name, tensor in (("classes", output.classes), ("scores", output.scores))
        if tensor is not None
    }


def from_contrib_estimator(
    estimator: Any,
    prediction_input_fn: Callable[[], Any],
    input_alternative_key: str | None = None,
    output_alternative_key: str | None = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """Return a Predictor of a `tf.contrib.learn.Estimator`'s latest checkpoint."""
    if not hasattr(estimator, "_call_model_fn") or hasattr(estimator, "latest_checkpoint"):
        raise TypeError(
            "Expected estimator to be of type tf.contrib.learn.Estimator, but got type "
            f"{type(estimator)}. Use from_estimator for tf.estimator's."
        )
    graph = graph or tf.Graph()
    with graph.as_default():
        tf.train.create_global_step()
        inputs, features = naming.get_input_alternatives(prediction_input_fn())
        ops = estimator._call_model_fn(features, None, ModeKeys.INFER)
        outputs, key = naming.get_output_alternatives(ops, output_alternative_key)
        checkpoint = tf.train.latest_checkpoint(estimator.model_dir)
        session = _restored(checkpoint, ops.scaffold, config)
    chosen = inputs[input_alternative_key or naming.DEFAULT_INPUT_ALTERNATIVE_KEY]
    return Predictor(graph, session, chosen, outputs[key][1])


def _restored(checkpoint: str | None, scaffold: Any, config: Any) -> Any:
    if not checkpoint:
        raise ValueError("The estimator has no checkpoint yet: train it first.")
    return tf.train.MonitoredSession(
        session_creator=tf.train.ChiefSessionCreator(
            scaffold=scaffold, checkpoint_filename_with_path=checkpoint, config=config
        )
    )
