"""Trains the same graph twice, by single steps and by fused ones, and compares what is left."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

PIECES = (3, 1, 4, 2)  # calls; a loop is left and entered again


@dataclass
class Model:
    """One step of a graph. ``begin``: run once, after the variables have their values."""

    op: Any
    values: Sequence[Any]
    begin: Sequence[Any] = field(default_factory=list)


def assert_equal(
    tf: Any,
    build: Callable[[], Model],
    pieces: Sequence[int] = PIECES,
    *,
    config: Any = None,
    tolerance: float = 0.0,
    **fused: Any,
) -> None:
    """Hold that fused steps leave the bits that single ones do, and give the same values."""
    singly = _train(tf, build, pieces, config, None)
    together = _train(tf, build, pieces, config, fused)

    assert [len(each) for each in singly] == [len(each) for each in together]
    for ours, theirs in zip(together, singly, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
    weights = [each for each in singly[-1] if np.size(each) > 1]
    assert any(np.ptp(each) > 0 for each in weights), "nothing was trained"


def _train(tf: Any, build: Any, pieces: Any, config: Any, fused: Any) -> list[list[Any]]:
    """Return the values at the end of each call, and all variables at the last."""
    from danlu_runtime.fused import Fused, why_not

    with tf.Graph().as_default() as graph, resource_variables(tf):
        tf.set_random_seed(7)
        model = build()
        if fused is not None:
            assert why_not(model.op, model.values) is None
            before = graph.as_graph_def(add_shapes=True)
            loop = Fused(model.op, model.values, **fused)
            _assert_untouched(graph, before)
        start = tf.global_variables_initializer(), tf.tables_initializer()
        found = []
        graph.finalize()
        with tf.Session(config=config) as session:
            session.run(start)
            session.run(model.begin)
            for n in pieces:
                if fused is not None:
                    found.append(session.run(loop.values, loop.feed(n)))
                    continue
                for _ in range(n):
                    values = session.run([model.op, *model.values])[1:]
                found.append(values)
            return [*found, session.run(tf.global_variables())]


def _assert_untouched(graph: Any, before: Any) -> None:
    """Hold that what the graph had is still there as it was."""
    now = {node.name: node for node in graph.as_graph_def(add_shapes=True).node}
    for node in before.node:
        assert now[node.name] == node


def resource_variables(tf: Any) -> Any:
    return tf.variable_scope("", use_resource=True)


def pipeline(tf: Any, rows: int = 256, size: int = 16, *, repeat: bool = True) -> Any:
    """Return images, labels, and the operation that begins with the data."""
    generator = np.random.RandomState(0)
    images = generator.rand(rows, 12).astype("f")
    labels = generator.randint(0, 4, rows)
    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(rows, seed=5)
    data = (data.repeat() if repeat else data).batch(size, drop_remainder=True).prefetch(2)
    iterator = tf.data.make_initializable_iterator(data)
    return (*iterator.get_next(), iterator.initializer)


def loss_of(tf: Any, hidden: Any, labels: Any) -> Any:
    return tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(hidden, 4))
