"""`tf.contrib.tpu.TPUEstimator` on CPUs and GPUs; a TPU is refused in a sentence."""

from typing import Any

from danlu.errors import Unsupported
from danlu_runtime.tf1.estimator import private

_tpu_estimator: Any = private("tpu.tpu_estimator")
TPUEstimatorSpec = _tpu_estimator.TPUEstimatorSpec


class TPUEstimator(_tpu_estimator.TPUEstimator):
    """An Estimator that hands `params["batch_size"]` to `input_fn` and `model_fn`."""

    def __init__(
        self,
        model_fn: Any = None,
        model_dir: str | None = None,
        config: Any = None,
        params: Any = None,
        use_tpu: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if use_tpu:
            raise Unsupported.from_key("tf1.no_tpu")
        super().__init__(model_fn, model_dir, config, params, use_tpu, *args, **kwargs)
