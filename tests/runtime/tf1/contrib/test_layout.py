"""The files and the table of tf.contrib: their names are paths of TensorFlow 1.15."""

import importlib

import pytest

import contrib_index
from danlu.messages import catalogue
from danlu_runtime.tf1 import estimator
from danlu_runtime.tf1.contrib import _aliases

# Paths that are not modules of the package of TensorFlow 1.15.5.
OTHERS = {
    "learn.io": "a name of learn",
    "linalg": "before 1.15",
    "lite": "before 1.15",
    "nccl": "before 1.15",
    "rnn.core_rnn_cell_impl": "1.0 and 1.1",
    "session_bundle.session_bundle": "before 1.15",
    "slim.losses": "a name of slim",
    "training.sgdr_learning_rate_decay": "in the sources, not in the package",
}


def test_every_path_is_one_of_tensorflow():
    paths = [*contrib_index.own_paths(), *contrib_index.table_paths()]

    assert {path for path in paths if not contrib_index.theirs(path)} == set(OTHERS)


def test_no_file_is_also_in_the_table():
    assert set(contrib_index.own_paths()) & set(contrib_index.table_paths()) == set()
    assert set(_aliases.MODULES) & set(_aliases.NAMES) == set()


def test_packages_of_the_table_are_in_it():
    parents = {path.rpartition(".")[0] for path in contrib_index.table_paths()} - {""}

    assert parents - {*contrib_index.own_paths(), *_aliases.NAMES} == set()


def test_index_is_current(tf):
    index = contrib_index.INDEX.read_text(encoding="utf-8").splitlines()

    assert index == list(contrib_index.lines())


def test_all_names_are_imported_by_a_star(tf):
    for path in [*contrib_index.own_paths(), *contrib_index.table_paths()]:
        names = {}
        exec(f"from tensorflow.contrib.{path} import *", names)

        module = importlib.import_module(f"tensorflow.contrib.{path}")
        assert {*module.__all__} - {*names} == set(), path


def _advice(table):
    for value in table.values():
        yield from _advice(value) if isinstance(value, dict) else [value]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_removed_names_have_advice_in_each_language(lang, tf):
    tables = [_aliases.GONE, estimator._GONE]
    for path in ["", *contrib_index.own_paths()]:
        module = importlib.import_module(f"danlu_runtime.tf1.contrib.{path}".rstrip("."))
        tables.append(getattr(module, "GONE", {}))

    values = {value for table in tables for value in _advice(table)}
    keys = {value for value in values if value.startswith("removed.")}
    assert keys - {*catalogue(lang)} == set()
    # All others are names: the message is "Use {name}."
    assert {value for value in values - keys if "Use " in value or value.endswith(".")} == set()
    assert len(keys) > 50


def test_own_modules_are_not_served(tf):
    for name in ("_aliases", "rnn._lstm_cells", "learn.estimators._heads"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(f"tensorflow.contrib.{name}")
    assert not hasattr(tf.contrib.rnn, "_lstm_cells")


def test_imports_of_a_module_are_not_its_names(tf):
    for module in (tf.contrib.rnn, tf.contrib.layers, tf.contrib.data, tf.contrib.tpu):
        assert {"Any", "GONE", "danlu_runtime", "sys", "tf"} & {*dir(module)} == set()
        assert dir(module)


def test_modules_of_the_table_import_names_on_use(tf):
    module = importlib.import_module("tensorflow.contrib.hooks")

    assert module.ProfilerHook is tf.train.ProfilerHook
    assert importlib.import_module("tensorflow.contrib.learn.io.graph_io").read_batch_examples
    assert tf.contrib.learn.io.graph_io is not None
    with pytest.raises(AttributeError, match=r"no attribute 'ProfileHook'. Did you mean 'Profiler"):
        _ = module.ProfileHook
