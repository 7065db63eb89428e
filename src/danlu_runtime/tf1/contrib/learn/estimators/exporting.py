"""Writes an estimator of contrib.learn as a SavedModel."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModeKeys
from danlu_runtime.tf1.contrib.learn.utils import saved_model_export_utils as naming


def export_savedmodel(
    estimator: Any,
    export_dir_base: str,
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
    graph_rewrite_specs: Any = None,
    strip_default_attrs: bool = False,
) -> bytes:
    """Write a SavedModel into a folder named by the time, and return its path.

    Raises:
        ValueError: there is no checkpoint yet, or no such output alternative.
    """
    if serving_input_fn is None:
        raise ValueError("serving_input_fn must be defined.")
    checkpoint = checkpoint_path or tf.train.latest_checkpoint(estimator.model_dir)
    if not checkpoint:
        raise ValueError(f"Couldn't find trained model at {estimator.model_dir}.")
    final = naming.get_timestamped_export_dir(export_dir_base)
    temporary = naming.get_temp_export_dir(final)
    with tf.Graph().as_default():
        tf.train.create_global_step()
        input_ops = serving_input_fn()
        inputs, features = naming.get_input_alternatives(input_ops)
        ops = estimator._call_model_fn(features, None, ModeKeys.INFER)
        outputs, key = naming.get_output_alternatives(ops, default_output_alternative_key)
        signatures = naming.build_all_signature_defs(inputs, outputs, key)
        _write(temporary, checkpoint, signatures, ops.scaffold, as_text, strip_default_attrs)
    _copy_assets(temporary, assets_extra or {})
    tf.gfile.Rename(temporary, final)
    return final


def _write(
    folder: bytes,
    checkpoint: str,
    signatures: Mapping[str, Any],
    scaffold: Any,
    as_text: bool,
    strip_default_attrs: bool,
) -> None:
    saver = (scaffold.saver if scaffold else None) or tf.train.Saver(sharded=True)
    builder = tf.saved_model.builder.SavedModelBuilder(folder)
    with tf.Session() as session:
        saver.restore(session, checkpoint)
        builder.add_meta_graph_and_variables(
            session,
            [tf.saved_model.tag_constants.SERVING],
            signature_def_map=signatures,
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            main_op=tf.group(tf.local_variables_initializer(), tf.tables_initializer()),
            strip_default_attrs=strip_default_attrs,
        )
        builder.save(as_text)


def _copy_assets(folder: bytes, assets: Mapping[str, str]) -> None:
    for destination, source in assets.items():
        path = os.path.join(tf.compat.as_text(folder), "assets.extra", destination)
        tf.gfile.MakeDirs(os.path.dirname(path))
        tf.gfile.Copy(source, path)
