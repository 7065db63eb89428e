"""Reads what two runs wrote, with the TensorFlow of one side: ``python checkpoints.py ORDER``.

``ORDER`` is a JSON file with ``items`` and ``answer``. An item has a ``kind``, a ``path`` and the
file ``to`` which its arrays are written:

``checkpoint``  the tensors of a checkpoint
``hdf5``        the data sets of an HDF5 file
``events``      steps and values of the scalars in an event file
``arrays``      a file of NumPy
``graph``       the variables after the graph of the checkpoint ``graph`` has restored ``path``
``model``       the weights of the Keras model in ``path``

The answer has one text for each item: empty, or the error. The file runs under Python 3.7 with the
real TensorFlow 1.15.5 and under the runtime.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read(item: dict[str, str]) -> dict[str, Any]:
    """Return the arrays of an item by their names."""
    return _READERS[item["kind"]](item)


def _checkpoint(item: dict[str, str]) -> dict[str, Any]:
    import tensorflow as tf

    reader = tf.train.NewCheckpointReader(item["path"])
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def _hdf5(item: dict[str, str]) -> dict[str, Any]:
    import h5py

    found = {}

    def visit(name: str, entry: Any) -> None:
        if isinstance(entry, h5py.Dataset):
            found[name] = entry[()]

    with h5py.File(item["path"], "r") as file:
        file.visititems(visit)
    return found


def _events(item: dict[str, str]) -> dict[str, Any]:
    import numpy as np
    import tensorflow as tf

    found: dict[str, Any] = {}
    for event in tf.train.summary_iterator(item["path"]):
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            if kind == "simple_value":
                number = value.simple_value
            elif kind == "tensor" and value.tensor.dtype == 1 and not value.tensor.tensor_shape.dim:
                number = float(tf.make_ndarray(value.tensor))
            else:
                continue
            # Rates and times are not results.
            if not value.tag.endswith(("/sec", "_per_sec", "_secs")):
                found.setdefault(value.tag, []).append((event.step, number))
    steps = {tag + " (steps)": [step for step, _ in points] for tag, points in found.items()}
    values = {tag: [value for _, value in points] for tag, points in found.items()}
    return {tag: np.array(each, np.float64) for tag, each in {**values, **steps}.items()}


def _arrays(item: dict[str, str]) -> dict[str, Any]:
    import numpy as np

    found = np.load(item["path"], allow_pickle=False)
    return {"array": found} if isinstance(found, np.ndarray) else dict(found)


def _graph(item: dict[str, str]) -> dict[str, Any]:
    import tensorflow as tf

    with tf.Graph().as_default() as graph, tf.Session() as session:
        saver = tf.train.import_meta_graph(item["graph"] + ".meta", clear_devices=True)
        saver.restore(session, item["path"])
        reader = tf.train.NewCheckpointReader(item["path"])
        saved = reader.get_variable_to_shape_map()
        found = {each.op.name: each for each in graph.get_collection("variables")}
        wanted = {n: v._as_graph_element() for n, v in found.items() if n in saved}
        return dict(session.run(wanted))


def _model(item: dict[str, str]) -> dict[str, Any]:
    import tensorflow as tf

    with tf.Graph().as_default():
        model = tf.keras.models.load_model(item["path"], compile=False)
        return {f"{at:03d}": value for at, value in enumerate(model.get_weights())}


_READERS = {
    "checkpoint": _checkpoint,
    "hdf5": _hdf5,
    "events": _events,
    "arrays": _arrays,
    "graph": _graph,
    "model": _model,
}


def write(path: str, values: dict[str, Any]) -> None:
    import numpy as np

    with open(path, "wb") as file:
        np.savez(file, **{name.replace("/", "|"): each for name, each in values.items()})


def main(order: str) -> None:
    with open(order) as file:
        given = json.load(file)
    errors = []
    for item in given["items"]:
        try:
            write(item["to"], read(item))
            errors.append("")
        except Exception as error:
            first = str(error).strip().split("\n")[0]
            errors.append(f"{type(error).__name__}: {first}"[:300])
    with open(given["answer"] + ".part", "w") as file:
        json.dump(errors, file)
    os.replace(given["answer"] + ".part", given["answer"])


if __name__ == "__main__":
    sys.path.pop(0)
    main(sys.argv[1])
