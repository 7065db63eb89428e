"""`tf.contrib.eager.metrics`: metrics that are called with batches and asked for their result."""

from typing import Any

import tensorflow.compat.v1 as tf


class Metric:
    """Subclasses make variables in `build`, change them in `call`, read them in `result`.

    In a graph a call returns the op that updates; `init_variables` begins anew.
    """

    def __init__(self, name: str | None = None, use_global_variables: bool = False) -> None:
        self._name = name or type(self).__name__
        self._built = False
        self._vars: list[Any] = []
        self._collection = (
            tf.GraphKeys.GLOBAL_VARIABLES if use_global_variables else tf.GraphKeys.LOCAL_VARIABLES
        )
        self._initial: list[Any] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def variables(self) -> list[Any]:
        return self._vars

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch."""
        if not self._built:
            self.build(*args, **kwargs)
            self._built = True
        return self.call(*args, **kwargs)

    def init_variables(self) -> Any:
        """Set the variables to their first values."""
        return tf.group(
            *(v.assign(value) for v, value in zip(self._vars, self._initial, strict=True))
        )

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Make the variables; called once, with the first batch."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("Metrics must define a call() member function")

    def result(self) -> Any:
        raise NotImplementedError("Metrics must define a result() member function")

    def add_variable(
        self, name: str, shape: Any = (), dtype: Any = None, initializer: Any = None
    ) -> Any:
        """Return a new variable of the metric."""
        dtype = dtype or tf.float64
        make = initializer or tf.zeros_initializer(dtype=dtype)
        value = make(shape, dtype=dtype)
        variable = tf.Variable(
            value,
            trainable=False,
            collections=None if tf.executing_eagerly() else [self._collection],
            name=f"{self._name}/{name}",
            use_resource=True,
        )
        self._vars.append(variable)
        self._initial.append(value if tf.executing_eagerly() else tf.zeros(shape, dtype))
        return variable


class Mean(Metric):
    """The weighted mean of all values."""

    def __init__(
        self, name: str | None = None, dtype: Any = tf.float64, use_global_variables: bool = False
    ) -> None:
        super().__init__(name, use_global_variables)
        self.dtype = dtype

    def build(self, *args: Any, **kwargs: Any) -> None:
        self.numer = self.add_variable("numer", dtype=self.dtype)
        self.denom = self.add_variable("denom", dtype=self.dtype)

    def call(self, values: Any, weights: Any = None) -> Any:
        values = tf.cast(values, self.dtype)
        if weights is None:
            count = tf.cast(tf.size(values), self.dtype)
            total = tf.reduce_sum(values)
        else:
            weights = tf.cast(weights, self.dtype)
            count, total = tf.reduce_sum(weights), tf.reduce_sum(values * weights)
        updates = [self.denom.assign_add(count), self.numer.assign_add(total)]
        if tf.executing_eagerly():
            return values if weights is None else (values, weights)
        with tf.control_dependencies(updates):
            return tf.identity(values)

    def result(self, write_summary: bool = True) -> Any:
        value = self.numer / self.denom
        if write_summary:
            # As summaries of tf.contrib.summary: written only where a writer records them.
            from tensorflow.python.ops import summary_ops_v2

            summary_ops_v2.scalar(name=self.name, tensor=value)
        return value


class Accuracy(Mean):
    """The share of predictions that equal their labels."""

    def build(self, *args: Any, **kwargs: Any) -> None:
        super().build()

    def call(  # type: ignore[override]  # the arguments of 1.15
        self, labels: Any, predictions: Any, weights: Any = None
    ) -> Any:
        predictions = tf.convert_to_tensor(predictions)
        matches = tf.equal(tf.cast(labels, predictions.dtype), predictions)
        return super().call(tf.cast(matches, self.dtype), weights)


class CategoricalAccuracy(Mean):
    """The share of one-hot labels whose class has the largest score."""

    def call(  # type: ignore[override]  # the arguments of 1.15
        self, labels: Any, predictions: Any, weights: Any = None
    ) -> Any:
        matches = tf.equal(tf.argmax(labels, -1), tf.argmax(predictions, -1))
        return super().call(tf.cast(matches, self.dtype), weights)


class BinaryAccuracy(Mean):
    """The share of labels on the same side of a threshold as their prediction."""

    def __init__(
        self, threshold: float = 0.5, name: str | None = None, dtype: Any = tf.float64
    ) -> None:
        super().__init__(name, dtype)
        self.threshold = threshold

    def call(  # type: ignore[override]  # the arguments of 1.15
        self, labels: Any, predictions: Any, weights: Any = None
    ) -> Any:
        chosen = tf.greater_equal(predictions, self.threshold)
        matches = tf.equal(tf.greater_equal(tf.cast(labels, predictions.dtype), 0.5), chosen)
        return super().call(tf.cast(matches, self.dtype), weights)


class SparseAccuracy(Mean):
    """The share of class ids whose class has the largest score."""

    def call(  # type: ignore[override]  # the arguments of 1.15
        self, labels: Any, predictions: Any, weights: Any = None
    ) -> Any:
        best = tf.argmax(predictions, -1, output_type=tf.int64)
        matches = tf.equal(tf.cast(labels, tf.int64), best)
        return super().call(tf.cast(matches, self.dtype), weights)
