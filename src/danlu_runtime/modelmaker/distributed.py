"""Trains with the user's functions on several machines, as chief, worker or evaluator."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import tensorflow as tf

from danlu_runtime.modelmaker import estimators, machines, trouble
from danlu_runtime.modelmaker.answer import ask
from danlu_runtime.modelmaker.evaluation import Evaluation, training_is_over
from danlu_runtime.modelmaker.evaluator import evaluate
from danlu_runtime.modelmaker.farewell import Gathering, Leaving, before_last_checkpoint
from danlu_runtime.modelmaker.functions import Functions, load
from danlu_runtime.modelmaker.machines import Part
from danlu_runtime.modelmaker.rehearsal import receiver_of, rehearse


def train(
    run: str, job: str, path: str, model_dir: str, params: Mapping[str, Any], mine: Part
) -> None:
    """Take part in what the service promises for a file with functions.

    The chief rehearses, so a mistake is told once, and not by every machine.
    """
    over = training_is_over() if mine.role == machines.EVALUATOR else None
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.enable_resource_variables()  # as in one process: the variables have the same names
    functions = load(run, path, params)
    if over is not None:
        estimator = estimators.estimator_of(functions, model_dir, params)
        spec = estimators.eval_spec(functions, params, receiver_of(functions, estimator))
        estimators.tell_metrics(evaluate(estimator, spec, over))
        return
    functions = replace(functions, train_input_fn=machines.share(functions.train_input_fn, mine))
    estimator = estimators.estimator_of(functions, model_dir, params)
    if mine.role == machines.CHIEF:
        _lead(run, job, functions, estimator, params, mine)
    else:
        _run(functions, estimator, params, functions.receiver_fn, [Leaving(mine)])


def _lead(
    run: str, job: str, functions: Functions, estimator: Any, params: Mapping[str, Any], mine: Part
) -> None:
    receiver, batch = rehearse(functions, estimator)
    estimators.tell_start(estimator)
    gathering = Gathering(mine)
    with Evaluation(run, job) as evaluation:
        with before_last_checkpoint(gathering):
            hooks = [gathering, _Watch(evaluation)]
            _run(functions, estimator, params, receiver, hooks)
        evaluation.finish()
    ask(os.path.join(estimator.model_dir, "export", estimators.LATEST), batch)


def _run(
    functions: Functions, estimator: Any, params: Mapping[str, Any], receiver: Any, hooks: list[Any]
) -> None:
    limit = int(os.environ.get("DANLU_MAX_STEPS") or 0)
    if limit:  # each process counts its own steps; this counts those of all
        params = {**params, "train_max_steps": min(limit, params["train_max_steps"] or limit)}
    with trouble.training():
        tf.estimator.train_and_evaluate(
            estimator,
            estimators.train_spec(functions, params, hooks),
            estimators.eval_spec(functions, params, receiver),
        )


class _Watch(tf.train.SessionRunHook):
    """Ends the training when the evaluation has failed: the job's result would have none."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._evaluation.check()
