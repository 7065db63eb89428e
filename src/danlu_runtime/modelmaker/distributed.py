"""Trains with the user's functions on several machines, as chief, worker or evaluator."""

import os
from collections.abc import Callable, Mapping
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
    shared = machines.share(functions.train_input_fn, mine)
    functions = replace(functions, train_input_fn=_with_saver(shared, params))
    estimator = estimators.estimator_of(functions, model_dir, params)
    if mine.role == machines.CHIEF:
        _lead(run, job, functions, estimator, params, mine)
    else:
        _run(functions, estimator, params, functions.receiver_fn, [Leaving(mine)])


def _with_saver(input_fn: Callable[[], Any], params: Mapping[str, Any]) -> Callable[[], Any]:
    """Return a function that gives its graph a saver that reads and writes on the chief.

    An Estimator's own lets parameter servers do that, who have no part in the chief's directory.
    """

    def prepared() -> Any:
        saver = tf.train.Saver(
            max_to_keep=params["keep_checkpoint_max"], defer_build=True, save_relative_paths=True
        )
        tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
        return input_fn()

    return prepared


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
