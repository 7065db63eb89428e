"""Trains with the user's functions on several machines, as chief, worker or evaluator."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import tensorflow as tf

from danlu_runtime.modelmaker import diagnostics, machines, training
from danlu_runtime.modelmaker.evaluation import Evaluation, training_is_over
from danlu_runtime.modelmaker.export_check import check_export
from danlu_runtime.modelmaker.functions import Functions, load
from danlu_runtime.modelmaker.machines import Part
from danlu_runtime.modelmaker.rehearsal import receiver_of, rehearse
from danlu_runtime.modelmaker.training import evaluate, no_first_checkpoint

_LOOK = 0.1  # seconds


class _Marks(tf.train.SessionRunHook):
    """A variable per worker on the parameter server that is set when the worker is done."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._ended: list[Any] = []

    def begin(self) -> None:
        with tf.device("/job:ps/task:0/device:CPU:0"), tf.variable_scope("", reuse=False):
            self._ended = [self._mark(worker) for worker in range(self._workers)]

    def _mark(self, worker: int) -> Any:
        return tf.get_variable(
            f"danlu_ended/{worker}",
            initializer=tf.constant(False),
            trainable=False,
            collections=[],  # neither saved nor waited for at the start
            use_resource=True,
        )


class WorkerDoneHook(_Marks):
    """Hook of a worker that reports its last step."""

    def __init__(self, mine: Part) -> None:
        super().__init__(mine.trainers - 1)
        self._index = mine.index

    def begin(self) -> None:
        super().begin()
        self._leave = self._ended[self._index].assign(True, read_value=False)

    def end(self, session: Any) -> None:
        session.run(self._leave)


class ChiefWaitHook(_Marks):
    """Hook of the chief that waits for the workers before the last checkpoint is written.

    A worker that fails ends the job. The chief never waits in vain.
    """

    def __init__(self, mine: Part) -> None:
        super().__init__(mine.trainers - 1)

    def begin(self) -> None:
        super().begin()
        self._there = [
            tf.cond(mark.is_initialized(), mark.read_value, lambda: tf.constant(False))
            for mark in self._ended
        ]

    def wait(self, session: Any) -> None:
        while not all(session.run(self._there)):
            time.sleep(_LOOK)


@contextmanager
def before_last_checkpoint(gathering: ChiefWaitHook) -> Iterator[None]:
    """Make the chief's saver wait for the workers.

    An Estimator creates the saver itself and ends it before all other hooks.
    """
    saver = tf.train.CheckpointSaverHook
    end = saver.end

    def wait_and_end(self: Any, session: Any) -> None:
        gathering.wait(session)
        end(self, session)

    saver.end = wait_and_end
    try:
        yield
    finally:
        saver.end = end


def train(
    run: str, job: str, path: str, model_dir: str, params: Mapping[str, Any], mine: Part
) -> None:
    """Run the part of this process in the training.

    Only the chief rehearses. A mistake is reported once and not by every machine.
    """
    over = training_is_over() if mine.role == machines.EVALUATOR else None
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.enable_resource_variables()  # as in one process, which gives the variables the same names
    functions = load(run, path, params)
    if over is not None:
        estimator = training.estimator_of(functions, model_dir, params)
        spec = training.eval_spec(functions, params, receiver_of(functions, estimator))
        training.report_metrics(evaluate(estimator, spec, over))
        return
    functions = replace(functions, train_input_fn=machines.share(functions.train_input_fn, mine))
    estimator = training.estimator_of(functions, model_dir, params)
    if mine.role == machines.CHIEF:
        _lead(run, job, functions, estimator, params, mine)
    else:
        _run(functions, estimator, params, functions.receiver_fn, [WorkerDoneHook(mine)])


def _lead(
    run: str, job: str, functions: Functions, estimator: Any, params: Mapping[str, Any], mine: Part
) -> None:
    receiver, batch = rehearse(functions, estimator)
    training.report_start(estimator)
    gathering = ChiefWaitHook(mine)
    with Evaluation(run, job) as evaluation:
        with before_last_checkpoint(gathering):
            hooks = [gathering, _EvaluationFailureHook(evaluation)]
            _run(functions, estimator, params, receiver, hooks)
        evaluation.finish()
    check_export(os.path.join(estimator.model_dir, "export", training.LATEST), batch)


def _run(
    functions: Functions, estimator: Any, params: Mapping[str, Any], receiver: Any, hooks: list[Any]
) -> None:
    limit = int(os.environ.get("DANLU_MAX_STEPS") or 0)
    if limit:  # each process counts its own steps; this limit counts those of all
        params = {**params, "train_max_steps": min(limit, params["train_max_steps"] or limit)}
    with no_first_checkpoint(), diagnostics.training():
        tf.estimator.train_and_evaluate(
            estimator,
            training.train_spec(functions, params, hooks),
            training.eval_spec(functions, params, receiver),
        )


class _EvaluationFailureHook(tf.train.SessionRunHook):
    """Hook that ends the training if the evaluation failed, because no model would be exported."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._evaluation.check()
