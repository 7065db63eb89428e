"""`tensorflow.contrib.session_bundle.session_bundle`: loads an export, new or old."""

import os
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.session_bundle import constants


def maybe_session_bundle_dir(export_dir: str) -> bool:
    """Return True if a folder holds an export of before SavedModel."""
    return tf.gfile.Exists(os.path.join(export_dir, constants.META_GRAPH_DEF_FILENAME))


def load_session_bundle_from_path(
    export_dir: str, target: str = "", config: Any = None, meta_graph_def: Any = None
) -> tuple[Any, Any]:
    """Return a session with the model restored, and its MetaGraphDef."""
    graph = tf.Graph()
    session = tf.Session(target, graph=graph, config=config)
    with graph.as_default():
        if not maybe_session_bundle_dir(export_dir):
            tags = [tf.saved_model.tag_constants.SERVING]
            return session, tf.saved_model.loader.load(session, tags, export_dir)
        path = os.path.join(export_dir, constants.META_GRAPH_DEF_FILENAME)
        if meta_graph_def is None:
            meta_graph_def = tf.MetaGraphDef()
            with tf.gfile.GFile(path, "rb") as file:
                meta_graph_def.ParseFromString(file.read())
        saver = tf.train.import_meta_graph(meta_graph_def)
        saver.restore(session, os.path.join(export_dir, _variables(export_dir)))
        for op in tf.get_collection(constants.INIT_OP_KEY):
            session.run(op, _asset_feeds(export_dir))
        return session, meta_graph_def


def _variables(export_dir: str) -> str:
    parts = tf.gfile.Glob(os.path.join(export_dir, constants.VARIABLES_FILENAME_PATTERN))
    return constants.VARIABLES_FILENAME_PATTERN if parts else constants.VARIABLES_FILENAME


def _asset_feeds(export_dir: str) -> dict[str, str]:
    from danlu_runtime.tf1.contrib.session_bundle import manifest_pb2

    feeds = {}
    for packed in tf.get_collection(constants.ASSETS_KEY):
        asset = manifest_pb2.AssetFile()
        asset.ParseFromString(packed.value)
        path = os.path.join(export_dir, constants.ASSETS_DIRECTORY, asset.filename)
        feeds[asset.tensor_binding.tensor_name] = path
    return feeds
