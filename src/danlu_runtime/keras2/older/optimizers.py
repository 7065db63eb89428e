"""The optimizers of Keras 2.0-2.3, by their formulas, defaults, weights and configurations.

Those of tf-keras differ: an epsilon at another place, no velocity in SGD without momentum, other
names and another order of the weights that HDF5 files store, clipping for each gradient alone.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import tensorflow.compat.v1 as tf
from tf_keras.src import backend as K
from tf_keras.src.optimizers import optimizer_v1

from danlu_runtime.keras2 import keras_version
from danlu_runtime.keras2.standalone import is_active

Tensor = Any
Slots = dict[str, Any]


class Optimizer(optimizer_v1.Optimizer):
    """The base of all optimizers, also of those of a script: the rate and clipping."""

    learning_rate: Any

    @property
    def lr(self) -> Any:
        return self.learning_rate

    @lr.setter
    def lr(self, value: Any) -> None:
        if hasattr(value, "assign") or "learning_rate" not in vars(self):
            self.learning_rate = value
        else:
            K.set_value(self.learning_rate, value)

    def get_gradients(self, loss: Tensor, params: Sequence[Any]) -> list[Tensor]:
        grads = K.gradients(loss, params)
        if any(grad is None for grad in grads):
            raise ValueError(
                "An operation has `None` for gradient. Please make sure that all of your ops have "
                "a gradient defined (i.e. are differentiable). Common ops without gradient: "
                "K.argmax, K.round, K.eval."
            )
        clipnorm, clipvalue = getattr(self, "clipnorm", 0), getattr(self, "clipvalue", 0)
        if clipnorm > 0:
            grads = [tf.convert_to_tensor(grad) for grad in grads]
            norm = tf.sqrt(sum(tf.reduce_sum(tf.square(grad)) for grad in grads))
            share = tf.where(norm >= clipnorm, clipnorm / norm, tf.ones_like(norm))
            grads = [grad * share for grad in grads]
        if clipvalue > 0:
            grads = [tf.clip_by_value(grad, -clipvalue, clipvalue) for grad in grads]
        return list(grads)


class _Formula(Optimizer):
    """What the optimizers of Keras share: arguments, variables and weights.

    Each optimizer names its arguments with their defaults, its slots, and the new values of a
    parameter and its slots.
    """

    RATE: ClassVar[float] = 0.01
    VARIABLES: ClassVar[Mapping[str, float]] = {}  # arguments that are variables
    PLAIN: ClassVar[Mapping[str, Any]] = {}  # arguments that stay numbers
    SLOTS: ClassVar[Sequence[str]] = ()
    DECAYS: ClassVar[bool] = True
    COUNTS_FIRST: ClassVar[bool] = False  # before the decay reads the count
    POSITIONS: ClassVar[Sequence[str]] = ()  # arguments after the learning rate

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = self._arguments(args, kwargs)
        self.initial_decay = given.pop("decay", 0.0)
        super().__init__(**{k: given.pop(k) for k in tuple(given) if k not in self._known()})
        for name, default in self.PLAIN.items():
            value = given.get(name, default)
            setattr(self, name, K.epsilon() if name == "epsilon" and value is None else value)
        self._params: list[Any] | None = None
        self._slots: list[Slots] = []
        with K.name_scope(type(self).__name__):
            self.iterations = K.variable(0, dtype="int64", name="iterations")
            rate = "lr" if keras_version.is_before_2_3() else "learning_rate"
            self.learning_rate = K.variable(given.get("learning_rate", self.RATE), name=rate)
            for name, default in self.VARIABLES.items():
                setattr(self, name, K.variable(given.get(name, default), name=name))
            if self.DECAYS:
                self.decay = K.variable(self.initial_decay, name="decay")
            self._own_variables()

    def _own_variables(self) -> None:
        """Create variables that are no arguments, in the scope of the others."""

    def _arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        names = ("learning_rate", *self.POSITIONS)
        if len(args) > len(names):
            raise TypeError(
                f"{type(self).__name__} takes {len(names)} arguments by position: "
                f"{', '.join(names)}; got {len(args)}."
            )
        # Keras 2.3 left out arguments between the numbers and the switch.
        switch = next((name for name, value in self.PLAIN.items() if value is False), "")
        pairs = zip(names, args, strict=False)
        given = {switch if isinstance(one, bool) else name: one for name, one in pairs}
        given |= kwargs
        if "lr" in given:
            given["learning_rate"] = given.pop("lr")
        return given

    def _known(self) -> set[str]:
        return {"learning_rate", *self.VARIABLES, *self.PLAIN}

    def get_updates(self, loss: Tensor, params: Sequence[Any]) -> list[Any]:
        grads = self.get_gradients(loss, params)
        # Keras did not order the count and its uses. As recorded with TensorFlow 1.15, a decay was
        # read before the count, but in Adam, whose first step is that of t = 2, after it.
        before = tf.identity(self.iterations)
        with tf.control_dependencies([before]):
            counted = tf.assign_add(self.iterations, 1)
        with tf.control_dependencies([counted]):
            step = self.iterations.read_value()
        rate = tf.identity(self.learning_rate)
        if self.DECAYS and self.initial_decay > 0:
            passed = tf.cast(step if self.COUNTS_FIRST else before, K.dtype(self.decay))
            rate = rate * (1.0 / (1.0 + self.decay * passed))
        self.updates = [counted]
        t = tf.cast(step, K.floatx()) + 1
        shared = self._shared(rate, t)
        for param, grad, slots in zip(params, grads, self._create_all_weights(params), strict=True):
            new, changed = self._new_values(param, grad, slots, shared)
            for name, value in changed.items():
                self.updates.append(tf.assign(slots[name], value))
            if getattr(param, "constraint", None) is not None:
                new = param.constraint(new)
            self.updates.append(tf.assign(param, new))
        return list(self.updates)

    def _shared(self, rate: Tensor, t: Tensor) -> Any:
        """Return what the updates of all parameters use."""
        return rate

    def _new_values(
        self, param: Any, grad: Tensor, slots: Slots, shared: Any
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the new value of a parameter and of its slots."""
        raise NotImplementedError

    def _create_all_weights(self, params: Sequence[Any]) -> list[Slots]:
        """Return the slots of each parameter; they are made once, also for a loaded model."""
        if self._params is not None and [*map(id, self._params)] == [*map(id, params)]:
            return self._slots
        self._params = list(params)
        self._slots = [{} for _ in params]
        training = tf.get_default_graph().get_name_scope().startswith("training")
        name = type(self).__name__
        with K.name_scope(name if training else f"training/{name}"):
            for slot in self.SLOTS:
                for index, param in enumerate(params):
                    self._slots[index][slot] = self._slot(slot, index, param)
        self.weights = [self.iterations, *self._own_weights()]
        self.weights += [slots[name] for name in self.SLOTS for slots in self._slots]
        return self._slots

    def _slot(self, name: str, index: int, param: Any) -> Any:
        size = K.int_shape(param) if self._uses(name) else (1,)
        # K.zeros made an operation of this name first, and the variable got the suffix.
        shown = None if keras_version.is_before_2_3() else f"{name}_{index}_1"
        return K.variable(np.zeros(size), dtype=K.dtype(param), name=shown)

    def _uses(self, name: str) -> bool:
        return True

    def _own_weights(self) -> list[Any]:
        return []

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Set the weights; those of Keras before 2.3 have no count of steps in some optimizers."""
        weights = list(weights)
        if len(self.weights) == len(weights) + 1:
            weights = self._completed(weights)
        super().set_weights(weights)

    def _completed(self, weights: list[Any]) -> list[Any]:
        return [np.array(0), *weights]

    def get_config(self) -> dict[str, Any]:
        rate = "lr" if keras_version.is_before_2_3() else "learning_rate"
        config = {rate: float(K.get_value(self.learning_rate))}
        config |= {name: float(K.get_value(getattr(self, name))) for name in self.VARIABLES}
        if self.DECAYS:
            config["decay"] = float(K.get_value(self.decay))
        config |= {name: getattr(self, name) for name in self.PLAIN}
        return {**super().get_config(), **config}


class SGD(_Formula):
    """Gradient descent with momentum, also Nesterov's."""

    VARIABLES: ClassVar = {"momentum": 0.0}
    PLAIN: ClassVar = {"nesterov": False}
    SLOTS: ClassVar = ("moment",)

    POSITIONS: ClassVar = ("momentum", "decay", "nesterov")

    def _new_values(self, param: Any, grad: Tensor, slots: Slots, shared: Any) -> Any:
        velocity = self.momentum * slots["moment"] - shared * grad
        step = self.momentum * velocity - shared * grad if self.nesterov else velocity
        return param + step, {"moment": velocity}


class RMSprop(_Formula):
    """Divides a gradient by a running average of its size."""

    RATE: ClassVar = 0.001
    VARIABLES: ClassVar = {"rho": 0.9}
    PLAIN: ClassVar = {"epsilon": None}
    SLOTS: ClassVar = ("accumulator",)
    POSITIONS: ClassVar = ("rho", "epsilon", "decay")

    def _new_values(self, param: Any, grad: Tensor, slots: Slots, shared: Any) -> Any:
        total = self.rho * slots["accumulator"] + (1.0 - self.rho) * tf.square(grad)
        return param - shared * grad / (K.sqrt(total) + self.epsilon), {"accumulator": total}


class Adagrad(_Formula):
    """Adapts the rate of each parameter to how often it changed."""

    PLAIN: ClassVar = {"epsilon": None}
    SLOTS: ClassVar = ("accumulator",)
    POSITIONS: ClassVar = ("epsilon", "decay")

    def _new_values(self, param: Any, grad: Tensor, slots: Slots, shared: Any) -> Any:
        total = slots["accumulator"] + tf.square(grad)
        return param - shared * grad / (K.sqrt(total) + self.epsilon), {"accumulator": total}


class Adadelta(_Formula):
    """Adagrad over a window of gradients."""

    RATE: ClassVar = 1.0
    PLAIN: ClassVar = {"rho": 0.95, "epsilon": None}
    SLOTS: ClassVar = ("accumulator", "delta_accumulator")
    POSITIONS: ClassVar = ("rho", "epsilon", "decay")

    def _new_values(self, param: Any, grad: Tensor, slots: Slots, shared: Any) -> Any:
        total = self.rho * slots["accumulator"] + (1.0 - self.rho) * tf.square(grad)
        before = slots["delta_accumulator"]
        step = grad * K.sqrt(before + self.epsilon) / K.sqrt(total + self.epsilon)
        after = self.rho * before + (1 - self.rho) * tf.square(step)
        return param - shared * step, {"accumulator": total, "delta_accumulator": after}


class Adam(_Formula):
    """Adam, and its variant AMSGrad."""

    RATE: ClassVar = 0.001
    VARIABLES: ClassVar = {"beta_1": 0.9, "beta_2": 0.999}
    PLAIN: ClassVar = {"epsilon": None, "amsgrad": False}
    SLOTS: ClassVar = ("m", "v", "vhat")

    POSITIONS: ClassVar = ("beta_1", "beta_2", "epsilon", "decay", "amsgrad")
    COUNTS_FIRST: ClassVar = True

    def _uses(self, name: str) -> bool:
        return name != "vhat" or bool(self.amsgrad)

    def _shared(self, rate: Tensor, t: Tensor) -> Any:
        return rate * (K.sqrt(1.0 - tf.pow(self.beta_2, t)) / (1.0 - tf.pow(self.beta_1, t)))

    def _new_values(self, param: Any, grad: Tensor, slots: Slots, shared: Any) -> Any:
        m = self.beta_1 * slots["m"] + (1.0 - self.beta_1) * grad
        v = self.beta_2 * slots["v"] + (1.0 - self.beta_2) * tf.square(grad)
        changed, size = {"m": m, "v": v}, v
        if self.amsgrad:
            changed["vhat"] = size = tf.maximum(slots["vhat"], v)
        return param - shared * m / (K.sqrt(size) + self.epsilon), changed


class Adamax(_Formula):
    """Adam with the infinity norm."""

    RATE: ClassVar = 0.002
    VARIABLES: ClassVar = {"beta_1": 0.9, "beta_2": 0.999}
    PLAIN: ClassVar = {"epsilon": None}
    SLOTS: ClassVar = ("m", "u")
    POSITIONS: ClassVar = ("beta_1", "beta_2", "epsilon", "decay")
    COUNTS_FIRST: ClassVar = True

    def _shared(self, rate: Tensor, t: Tensor) -> Any:
        return rate / (1.0 - tf.pow(self.beta_1, t))

    def _new_values(self, param: Any, grad: Tensor, slots: Slots, shared: Any) -> Any:
        m = self.beta_1 * slots["m"] + (1.0 - self.beta_1) * grad
        u = tf.maximum(self.beta_2 * slots["u"], tf.abs(grad))
        return param - shared * m / (u + self.epsilon), {"m": m, "u": u}


class Nadam(_Formula):
    """Adam with Nesterov's momentum."""

    RATE: ClassVar = 0.002
    VARIABLES: ClassVar = {"beta_1": 0.9, "beta_2": 0.999}
    PLAIN: ClassVar = {"epsilon": None, "schedule_decay": 0.004}
    SLOTS: ClassVar = ("m", "v")
    POSITIONS: ClassVar = ("beta_1", "beta_2", "epsilon", "schedule_decay")
    DECAYS: ClassVar = False

    def _own_variables(self) -> None:
        self.m_schedule = K.variable(1.0, name="m_schedule")

    def _own_weights(self) -> list[Any]:
        return [self.m_schedule]

    def _completed(self, weights: list[Any]) -> list[Any]:
        return [weights[0], np.array(1.0), *weights[1:]]

    def _shared(self, rate: Tensor, t: Tensor) -> Any:
        def share(at: Tensor) -> Tensor:
            return self.beta_1 * (1.0 - 0.5 * tf.pow(0.96, at * self.schedule_decay))

        now, following = share(t), share(t + 1)
        before = tf.identity(self.m_schedule)
        after = before * now
        self.updates.append(tf.assign(self.m_schedule, after))
        return rate, t, now, following, after, after * following

    def _new_values(self, param: Any, grad: Tensor, slots: Slots, shared: Any) -> Any:
        rate, t, now, following, schedule, schedule_next = shared
        m = self.beta_1 * slots["m"] + (1.0 - self.beta_1) * grad
        v = self.beta_2 * slots["v"] + (1.0 - self.beta_2) * tf.square(grad)
        gradient_part = (1.0 - now) * (grad / (1.0 - schedule))
        mean = gradient_part + following * (m / (1.0 - schedule_next))
        size = v / (1.0 - tf.pow(self.beta_2, t))
        return param - rate * mean / (K.sqrt(size) + self.epsilon), {"m": m, "v": v}


CLASSES = {kind.__name__: kind for kind in (SGD, RMSprop, Adagrad, Adadelta, Adam, Adamax, Nadam)}
_BY_NAME = {name.lower(): kind for name, kind in CLASSES.items()}


def get(identifier: Any) -> Any:
    """Return the optimizer for a name, a configuration, or an optimizer."""
    from tf_keras.src import optimizers

    kind = _BY_NAME.get(identifier.lower()) if isinstance(identifier, str) else None
    return kind() if kind is not None else optimizers.get(identifier)


def deserialize(config: Mapping[str, Any], custom_objects: Any = None) -> Any:
    """Return the optimizer with this class and configuration, of old or new Keras."""
    name, kind = str(config["class_name"]), None
    if name not in (custom_objects or {}):
        kind = _BY_NAME.get(name.lower())
    if kind is None:
        from tf_keras.src import optimizers

        return optimizers.deserialize(config, custom_objects)
    arguments = dict(config.get("config") or {})
    dropped = (
        "name",
        "centered",
        "initial_accumulator_value",
        "is_legacy_optimizer",
        "jit_compile",
    )
    return kind.from_config({key: one for key, one in arguments.items() if key not in dropped})


def serialize(optimizer: Any) -> dict[str, Any]:
    return {"class_name": type(optimizer).__name__, "config": optimizer.get_config()}


def use_for_names() -> None:
    """Make ``compile("adam")`` and a loaded model use these optimizers in the package's context."""
    from tf_keras.src import optimizers

    find, read = optimizers.get, optimizers.deserialize

    @functools.wraps(find)
    def get_(identifier: Any, **kwargs: Any) -> Any:
        named = isinstance(identifier, str) and identifier.lower() in _BY_NAME
        return get(identifier) if is_active() and named else find(identifier, **kwargs)

    @functools.wraps(read)
    def deserialize_(config: Any, custom_objects: Any = None, **kwargs: Any) -> Any:
        name = config.get("class_name", "") if isinstance(config, Mapping) else ""
        own = str(name).lower() in _BY_NAME and name not in (custom_objects or {})
        if is_active() and own:
            return deserialize(config, custom_objects)
        return read(config, custom_objects, **kwargs)

    optimizers.get, optimizers.deserialize = get_, deserialize_
