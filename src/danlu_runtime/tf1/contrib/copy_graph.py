"""tf.contrib.copy_graph: operations and variables copied from one graph to another."""

from typing import Any

import tensorflow.compat.v1 as tf


def copy_op_to_graph(org_instance: Any, to_graph: Any, variables: Any, scope: str = "") -> Any:
    """Copy a tensor or operation, with everything it is computed from, into ``to_graph``."""
    name = f"{scope}/{org_instance.name}" if scope else org_instance.name
    for variable in variables:
        if variable.name == name:
            return variable
    operation = org_instance if isinstance(org_instance, tf.Operation) else org_instance.op
    own = f"{scope}/{operation.name}" if scope else operation.name
    copied = _find(to_graph, own) or _copy(operation, own, to_graph, variables, scope)
    if isinstance(org_instance, tf.Operation):
        return copied
    return copied.outputs[org_instance.value_index]


def copy_variable_to_graph(org_instance: Any, to_graph: Any, scope: str = "") -> Any:
    """Copy a variable with its value in the default session into ``to_graph``."""
    if not isinstance(org_instance, tf.Variable):
        raise TypeError(f"{org_instance} is not a Variable")
    name = f"{scope}/{org_instance.op.name}" if scope else org_instance.op.name
    collections = [
        key for key, members in _collections(org_instance.graph) if org_instance in members
    ]
    with tf.Session(graph=org_instance.graph) as session:
        session.run(org_instance.initializer)
        value = session.run(org_instance)
    trainable = tf.GraphKeys.TRAINABLE_VARIABLES in collections
    with to_graph.as_default():
        return tf.Variable(
            value, trainable, name=name, collections=collections, validate_shape=False
        )


def get_copied_op(org_instance: Any, graph: Any, scope: str = "") -> Any:
    """Return what ``copy_op_to_graph`` has made of an instance."""
    name = f"{scope}/{org_instance.name}" if scope else org_instance.name
    return graph.as_graph_element(name, allow_tensor=True, allow_operation=True)


def _collections(graph: Any) -> list[tuple[str, list[Any]]]:
    return [(key, graph.get_collection(key)) for key in graph.get_all_collection_keys()]


def _find(graph: Any, name: str) -> Any:
    try:
        return graph.get_operation_by_name(name)
    except KeyError:
        return None


def _copy(operation: Any, name: str, graph: Any, variables: Any, scope: str) -> Any:
    inputs = [copy_op_to_graph(one, graph, variables, scope) for one in operation.inputs]
    before = [copy_op_to_graph(one, graph, variables, scope) for one in operation.control_inputs]
    tensors = [one.value() if isinstance(one, tf.Variable) else one for one in inputs]
    with graph.as_default(), graph.control_dependencies(before):
        return graph.create_op(
            operation.type,
            tensors,
            [output.dtype for output in operation.outputs],
            name=f"{name}/",  # as it is, without the scope that is open
            attrs=dict(operation.node_def.attr),
            op_def=operation.op_def,
        )
