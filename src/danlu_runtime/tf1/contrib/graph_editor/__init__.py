"""tf.contrib.graph_editor: walks through a graph, and copies with replaced tensors."""

from danlu_runtime.tf1.contrib.graph_editor.replacement import graph_replace
from danlu_runtime.tf1.contrib.graph_editor.walks import (
    filter_ops,
    filter_ops_from_regex,
    filter_ts,
    filter_ts_from_regex,
    get_backward_walk_ops,
    get_consuming_ops,
    get_forward_walk_ops,
    get_generating_ops,
    get_tensors,
    get_walks_intersection_ops,
    make_list_of_op,
    make_list_of_t,
    select_ops,
    select_ts,
)

_COPY = "Use tf.contrib.graph_editor.graph_replace, or tf.import_graph_def with input_map."
GONE = dict.fromkeys(
    (
        "SubGraphView",
        "Transformer",
        "bypass",
        "connect",
        "copy",
        "copy_with_input_replacements",
        "detach",
        "make_view",
        "reroute_ts",
        "sgv",
        "swap_ts",
    ),
    _COPY,
)

__all__ = [
    "filter_ops",
    "filter_ops_from_regex",
    "filter_ts",
    "filter_ts_from_regex",
    "get_backward_walk_ops",
    "get_consuming_ops",
    "get_forward_walk_ops",
    "get_generating_ops",
    "get_tensors",
    "get_walks_intersection_ops",
    "graph_replace",
    "make_list_of_op",
    "make_list_of_t",
    "select_ops",
    "select_ts",
]
