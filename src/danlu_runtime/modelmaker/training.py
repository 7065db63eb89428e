"""Trains, evaluates and exports with the user's functions, in one process."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import tensorflow as tf

from danlu_runtime.fused import choice
from danlu_runtime.fused.estimator import fused_steps
from danlu_runtime.modelmaker import estimators, machines, trouble
from danlu_runtime.modelmaker.answer import ask
from danlu_runtime.modelmaker.evaluator import evaluate_last
from danlu_runtime.modelmaker.functions import load
from danlu_runtime.modelmaker.rehearsal import rehearse


def train(run: str, path: str, model_dir: str, params: Mapping[str, Any]) -> None:
    """Do everything the service promises for a file with functions."""
    tf.logging.set_verbosity(tf.logging.INFO)
    choice.is_asked()  # a word that cannot be is told before anything else
    tf.enable_resource_variables()  # only they can be trained several steps at once
    functions = load(run, path, params)
    if (cards := estimators.cards()) > 1:
        shared = machines.on_cards(functions.train_input_fn, cards)
        functions = replace(functions, train_input_fn=shared)
    estimator = estimators.estimator_of(functions, model_dir, params)
    receiver, batch = rehearse(functions, estimator)
    estimators.tell_start(estimator)
    evaluation = estimators.eval_spec(functions, params, receiver)
    with fused_steps(estimator) as hooks, trouble.training():
        metrics, _ = tf.estimator.train_and_evaluate(
            estimator, estimators.train_spec(functions, params, hooks), evaluation
        )
    estimators.tell_metrics(metrics or evaluate_last(estimator, evaluation))
    ask(os.path.join(model_dir, "export", estimators.LATEST), batch)
