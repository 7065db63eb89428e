"""Small programs whose numbers the real TensorFlow 1.15.5 wrote to reference_values.json.

It runs under Python 3.7 with TensorFlow 1.15.5, and under Danlu. With the real one, this writes the
values anew:

    python3.7 tests/runtime/tf1/reference_cases.py tests/runtime/tf1/reference_values.json
"""

import json
import sys

ROWS = [[0.2, -0.4, 0.9], [0.7, 0.1, -0.3], [-0.6, 0.5, 0.4], [0.3, 0.8, -0.9]]
TARGETS = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
KERNEL = [[0.5, -0.2, 0.1], [0.3, 0.8, -0.6], [-0.4, 0.2, 0.7]]
FIRST = """GradientDescentOptimizer(0.1)
AdamOptimizer(0.1)
MomentumOptimizer(0.1, 0.9, use_nesterov=True)
RMSPropOptimizer(0.1, momentum=0.5, centered=True)
AdagradOptimizer(0.1)
AdadeltaOptimizer(1.0)
FtrlOptimizer(0.1, l1_regularization_strength=0.01)
ProximalAdagradOptimizer(0.1, l2_regularization_strength=0.01)""".splitlines()
SECOND = ("sgd", "adagrad", "adadelta", "adam", "adamax", "nadam", "rmsprop", "ftrl")
ENTROPIES = ("categorical_crossentropy", "binary_crossentropy")
LOSSES = (
    "mean_squared_error",
    "mean_absolute_percentage_error",
    "squared_hinge",
    "categorical_hinge",
    "logcosh",
    "kullback_leibler_divergence",
    "poisson",
    "cosine_similarity",
)


def cases():
    found = {"optimizer " + made: (optimized, made) for made in FIRST}
    found.update({"keras optimizer " + name: (fitted, name, "mse") for name in SECOND})
    found.update({"keras loss " + name: (loss_of, name) for name in LOSSES + ENTROPIES})
    softmax = {"keras softmax " + name: (fitted, "sgd", name) for name in ENTROPIES}
    found.update(softmax)
    found["keras metric at a threshold"] = (threshold,)
    found["error of a graph"] = (first_line,)
    found["cells"] = (cells,)
    return found


def run(tf, name):
    """Return the value of a case, as JSON has it."""
    tf.reset_default_graph()
    tf.keras.backend.clear_session()
    function = cases()[name]
    return json.loads(json.dumps(function[0](tf, *function[1:])))


def optimized(tf, made):
    weights = tf.get_variable("w", initializer=tf.constant(KERNEL))
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.constant(ROWS), weights) - tf.constant(TARGETS)))
    step = eval("tf.train." + made, {"tf": tf}).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(step)
        return session.run(weights).tolist()


def fitted(tf, optimizer, loss):
    import numpy as np

    dense = tf.keras.layers.Dense(3, activation="softmax", use_bias=False, input_shape=(3,))
    model = tf.keras.Sequential([dense])
    model.set_weights([np.array(KERNEL, "float32")])
    model.compile(optimizer, loss)
    x, y = np.array(ROWS, "float32"), np.array(TARGETS, "float32")
    history = model.fit(x, y, batch_size=2, epochs=3, shuffle=False, verbose=0).history
    return [[float(value) for value in history["loss"]], model.get_weights()[0].tolist()]


def loss_of(tf, name):
    found = tf.nn.softmax(tf.constant(ROWS) * 2.0)
    with tf.Session() as session:
        values = getattr(tf.keras.losses, name)(tf.constant(TARGETS), found + 0.0)
        return session.run(values).tolist()


def threshold(tf):
    found = []
    for name in ("SensitivityAtSpecificity", "SpecificityAtSensitivity"):
        metric = getattr(tf.keras.metrics, name)(0.5)
        update = metric.update_state([0.0, 0.0, 1.0, 1.0, 1.0], [0.1, 0.6, 0.3, 0.7, 0.9])
        with tf.Session() as session:
            session.run([variable.initializer for variable in metric.variables])
            session.run(update)
            found.append(float(session.run(metric.result())))
    return found


def first_line(tf):
    fed = tf.placeholder(tf.float32, [None, None])
    product = tf.matmul(fed, tf.constant(KERNEL))
    with tf.Session() as session:
        try:
            session.run(product, {fed: [[1.0, 2.0]]})
        except tf.errors.InvalidArgumentError as error:
            return [error.message.split("\n")[0][:24], str(error).split("\n")[0][:24]]
    return []


def cells(tf):
    found = []
    for name in ("BasicLSTMCell", "GRUCell", "LayerNormBasicLSTMCell", "UGRNNCell"):
        with tf.variable_scope(name, initializer=tf.constant_initializer(0.1)):
            cell = getattr(tf.contrib.rnn, name)(2)
            rows = tf.expand_dims(tf.constant(ROWS), 0)
            outputs, _ = tf.nn.dynamic_rnn(cell, rows, dtype=tf.float32)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found.append(session.run(outputs).tolist())
    return found


if __name__ == "__main__":
    import tensorflow

    tensorflow.logging.set_verbosity(tensorflow.logging.ERROR)
    values = {name: run(tensorflow, name) for name in sorted(cases())}
    with open(sys.argv[1], "w") as out:
        json.dump(values, out, indent=None, sort_keys=True)
        out.write("\n")
