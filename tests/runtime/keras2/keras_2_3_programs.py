"""Small programs for Keras 2.3, which run here and with the real library.

With a Python 3.7 that has tensorflow 1.15.5 and keras 2.3.1, this file writes what they give:
``python3.7 tests/runtime/keras2/keras_2_3_programs.py > tests/runtime/keras2/keras_2_3.json``
"""

import json
from typing import Any

import numpy as np


def trained(keras: Any, optimizer: Any, loss: str = "categorical_crossentropy") -> Any:
    keras.backend.clear_session()
    layers = keras.layers
    model = keras.models.Sequential(
        [
            layers.Dense(4, activation="tanh", input_shape=(3,)),
            layers.BatchNormalization(),
            layers.Dense(3, activation="softmax", activity_regularizer=keras.regularizers.l1(0.01)),
        ]
    )
    state = np.random.RandomState(3)
    model.set_weights([state.uniform(0.1, 0.9, one.shape) for one in model.get_weights()])
    name, arguments = optimizer
    model.compile(getattr(keras.optimizers, name)(**arguments), loss, metrics=["accuracy"])
    x = state.uniform(-1, 1, (24, 3))
    y = np.eye(3)[(x.sum(1) > 0).astype(int) + (x[:, 0] > 0.5)]
    history = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=2)
    return model, history.history


CASES = {
    "SGD": (("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}), "categorical_crossentropy"),
    "clipnorm": (("SGD", {"lr": 0.1, "clipnorm": 0.1}), "categorical_crossentropy"),
    "RMSprop": (("RMSprop", {}), "categorical_crossentropy"),
    "Adagrad": (("Adagrad", {}), "categorical_crossentropy"),
    "Adadelta": (("Adadelta", {}), "categorical_crossentropy"),
    "binary": (("SGD", {"lr": 0.1}), "binary_crossentropy"),
}


def described(model: Any, history: Any) -> Any:
    """Return the losses, a number of each weight, and what the optimizer has."""
    return {
        "loss": [round(float(loss), 6) for loss in history["loss"]],
        "weights": [round(float(one.ravel()[0]), 6) for one in model.get_weights()],
        "slots": len(model.optimizer.get_weights()),
        "config": sorted(model.optimizer.get_config()),
    }


if __name__ == "__main__":
    import contextlib
    import sys

    import keras

    with contextlib.redirect_stdout(sys.stderr):
        found = {name: described(*trained(keras, *case)) for name, case in CASES.items()}
    print(json.dumps(found, indent=1))
