"""`tf.contrib.learn.Experiment`: an estimator, its data, and when to train, evaluate and export."""

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn import monitors
from danlu_runtime.tf1.contrib.learn.estimators.run_config import Environment
from danlu_runtime.tf1.contrib.learn.export_strategy import ExportStrategy
from danlu_runtime.tf1.contrib.learn.trainable import Evaluable, Trainable
from danlu_runtime.tf1.estimator import public

__all__ = [
    "Experiment",
]


# What an Experiment does between trainings: waits, reports, serves its task of a cluster.


_WARN_EVERY = 600


def watch_checkpoints(
    model_dir: str,
    evaluate: Callable[[str], Any],
    throttle: float,
    only_once: bool,
    go_on: Callable[[Any], bool] | None,
    last_step: int | None,
) -> None:
    """Evaluate each new checkpoint until the last step, or until `go_on(result)` is False."""
    previous, result, warned = None, None, 0.0
    while go_on is None or go_on(result):
        start = time.time()
        latest = tf.train.latest_checkpoint(model_dir)
        if latest and not (only_once and latest == previous):
            result = evaluate(latest)
            previous, warned = latest, 0.0
        else:
            result = {}
            if start - warned > _WARN_EVERY:
                tf.logging.warning("No new checkpoint is ready for evaluation.")
                warned = start
        step = result.get(tf.GraphKeys.GLOBAL_STEP)
        if step is not None and last_step is not None and step >= last_step:
            return
        wait(throttle - (time.time() - start), "next eval run")


class ReportingValidation(monitors.ValidationMonitor):
    """Passes the result of each evaluation to a function, as `checkpoint_and_export` needs it."""

    def __init__(self, then: Callable[[Any], Any] | None, **options: Any) -> None:
        super().__init__(**options)
        self._then = then

    def _judge(self, results: dict[str, Any], step: int) -> bool:
        if self._then is not None:
            self._then(results)
        return super()._judge(results, step)


def wait(seconds: float, what: str) -> None:
    if seconds > 0:
        tf.logging.info("Waiting %d secs before starting %s.", seconds, what)
        time.sleep(seconds)


def check_predicate(predicate: Any) -> None:
    if predicate is not None and not callable(predicate):
        raise ValueError("`continuous_eval_predicate_fn` must be a callable, or None.")


def as_strategies(value: Any) -> list[ExportStrategy]:
    """Return one strategy, several or none as a list."""
    if value is None:
        return []
    if isinstance(value, ExportStrategy):
        return [value]
    if isinstance(value, list | tuple):
        return list(value)
    raise ValueError(
        "`export_strategies` must be an ExportStrategy, a list of ExportStrategies, or None, got "
        f"{value!r}."
    )


def has_finished(model_dir: str, train_steps: int | None) -> bool:
    """Return True if the latest checkpoint has reached the last step."""
    latest = tf.train.latest_checkpoint(model_dir)
    if train_steps is None or latest is None:
        return False
    reader = tf.train.NewCheckpointReader(latest)
    return bool(reader.get_tensor(tf.GraphKeys.GLOBAL_STEP) >= train_steps)


def start_server(config: Any) -> Any:
    """Start the server of this task and return it."""
    if not (config.cluster_spec and config.task_type and config.master):
        raise ValueError(
            "Could not start server; be sure to specify cluster_spec, task_type, master, and "
            "task in RunConfig or set the TF_CONFIG environment variable."
        )
    return tf.train.Server(
        config.cluster_spec,
        job_name=config.task_type,
        task_index=config.task_id,
        config=getattr(config, "tf_config", None) or config.session_config,
        start=True,
    )


# Cloud storage answers slowly: every step would be too often to look for a checkpoint there.
_FREQUENCY_ON_A_STORE = 1000
_STEPS_OF_A_TURN = 1000


class Experiment:
    """Knows how to train and evaluate an estimator; nothing runs before a method is called."""

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable[[], Any],
        eval_input_fn: Callable[[], Any],
        eval_metrics: Mapping[Any, Any] | None = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Any = None,
        eval_hooks: Any = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Any = None,
        check_interval_secs: float = 5,
    ) -> None:
        self._core = isinstance(estimator, public().Estimator)
        for kind in () if self._core else (Evaluable, Trainable):
            if not isinstance(estimator, kind):
                name = kind.__name__
                raise ValueError(f"`estimator` must be a `{name}` or a `tf.estimator.Estimator`.")
        if self._core and eval_metrics is not None:
            raise ValueError(
                "`eval_metrics` must be `None` with `tf.estimator.Estimator`. Use "
                "`eval_metric_ops` in its model_fn."
            )
        if saving_listeners and not self._core:
            raise ValueError("`saving_listeners` must be `None` with `tf.contrib.learn.Estimator`.")
        self._estimator = estimator
        self._train_input_fn = train_input_fn
        self._eval_input_fn = eval_input_fn
        self._eval_metrics = eval_metrics
        self._train_steps = train_steps
        self._eval_steps = eval_steps
        self._train_monitors = list(train_monitors or [])
        self._eval_hooks = list(eval_hooks or [])
        self._eval_delay_secs = eval_delay_secs
        self._throttle_secs = continuous_eval_throttle_secs
        self._check_interval_secs = check_interval_secs
        self._delay_workers_by_global_step = delay_workers_by_global_step
        self._train_steps_per_iteration = train_steps_per_iteration
        self._checkpoint_and_export = checkpoint_and_export
        self._saving_listeners = saving_listeners
        self._local_eval_frequency = local_eval_frequency
        if min_eval_frequency is None:
            remote = "://" in str(estimator.model_dir)
            min_eval_frequency = _FREQUENCY_ON_A_STORE if remote else 1
        self._min_eval_frequency = min_eval_frequency
        self._export_strategies = as_strategies(export_strategies)

    @property
    def estimator(self) -> Any:
        return self._estimator

    @property
    def eval_metrics(self) -> Mapping[Any, Any] | None:
        return self._eval_metrics

    @property
    def train_steps(self) -> int | None:
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        return self._eval_steps

    def extend_train_hooks(self, additional_hooks: Any) -> None:
        self._train_monitors.extend(additional_hooks)

    def reset_export_strategies(self, new_export_strategies: Any = None) -> list[ExportStrategy]:
        """Replace the export strategies and return the former ones."""
        former = self._export_strategies
        self._export_strategies = as_strategies(new_export_strategies)
        return former

    def train(self, delay_secs: float | None = None) -> Any:
        """Train to `train_steps`; later workers of a cluster wait before they begin."""
        config = self._estimator.config
        # An estimator of tf.estimator has a configuration without an environment.
        environment = getattr(config, "environment", None)
        if environment not in (Environment.LOCAL, Environment.GOOGLE) and (
            config.cluster_spec and config.master
        ):
            start_server(config)
        hooks = []
        task_id = config.task_id or 0
        if delay_secs is None:
            delay_secs = min(60, task_id * 5)
            if self._delay_workers_by_global_step:
                steps = int(8000.0 * math.log(task_id + 1))
                hooks.append(tf.train.GlobalStepWaiterHook(steps))
                delay_secs = 0
        wait(delay_secs, "training")
        return self._train(max_steps=self._train_steps, hooks=self._train_monitors + hooks)

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> Any:
        """Evaluate the latest checkpoint once."""
        wait(self._eval_delay_secs if delay_secs is None else delay_secs, "eval")
        return self._evaluate(self._eval_input_fn, name or "one_pass", self._eval_steps)

    def local_run(self) -> Any:
        """Train and evaluate in this process, as often as `local_eval_frequency` says."""
        with self._changed(_min_eval_frequency=self._local_eval_frequency):
            return self.train_and_evaluate()

    def train_and_evaluate(self) -> tuple[Any, list[Any]]:
        """Train, evaluate every new checkpoint on the way and the last one, then export."""
        watchers = []
        if self._min_eval_frequency:
            watchers = [
                ReportingValidation(
                    self._export if self._checkpoint_and_export else None,
                    input_fn=self._eval_input_fn,
                    eval_steps=self._eval_steps,
                    metrics=self._eval_metrics,
                    every_n_steps=self._min_eval_frequency,
                    name=None,
                    hooks=self._eval_hooks,
                    check_interval_secs=self._check_interval_secs,
                )
            ]
        with self._changed(_train_monitors=self._train_monitors + watchers):
            self.train(delay_secs=0)
        result = self._evaluate(self._eval_input_fn, None, self._eval_steps)
        return result, self._export(result)

    def continuous_train_and_eval(
        self, continuous_eval_predicate_fn: Callable[[Any], bool] | None = None
    ) -> tuple[Any, list[Any]]:
        """Train and evaluate in turns, without a session held in between."""
        check_predicate(continuous_eval_predicate_fn)
        result: Any = None
        exports: list[Any] = []
        between = self._min_eval_frequency or self._estimator.config.save_checkpoints_steps
        steps = self._train_steps_per_iteration or between or _STEPS_OF_A_TURN
        while continuous_eval_predicate_fn is None or continuous_eval_predicate_fn(result):
            if has_finished(self._estimator.model_dir, self._train_steps):
                break
            self._train(steps=steps, hooks=self._train_monitors)
            result = self._evaluate(self._eval_input_fn, None, self._eval_steps)
            exports = self._export(result)
        return result, exports

    def continuous_eval(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True,
        continuous_eval_predicate_fn: Callable[[Any], bool] | None = None,
        name: str = "continuous",
    ) -> None:
        """Evaluate every new checkpoint until training is done, or the predicate says False."""
        self._watch(
            self._eval_input_fn,
            name,
            delay_secs,
            throttle_delay_secs,
            evaluate_checkpoint_only_once,
            continuous_eval_predicate_fn,
        )

    def continuous_eval_on_train_data(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        continuous_eval_predicate_fn: Callable[[Any], bool] | None = None,
        name: str = "continuous_on_train_data",
    ) -> None:
        """Evaluate every new checkpoint on the training data."""
        waits = (delay_secs, throttle_delay_secs)
        self._watch(self._train_input_fn, name, *waits, True, continuous_eval_predicate_fn)

    def run_std_server(self) -> None:
        """Serve this task of a cluster, for ever: what a parameter server does."""
        start_server(self._estimator.config).join()

    def test(self) -> Any:
        """Train one step, evaluate one step, export: a rehearsal."""
        self._train(steps=1, hooks=self._train_monitors)
        result = self._evaluate(self._eval_input_fn, "one_pass", 1)
        self._export(result)
        return result

    def _watch(
        self,
        input_fn: Callable[[], Any],
        name: str,
        delay_secs: float | None,
        throttle_delay_secs: float | None,
        only_once: bool,
        predicate: Callable[[Any], bool] | None,
    ) -> None:
        check_predicate(predicate)
        wait(self._eval_delay_secs if delay_secs is None else delay_secs, "eval")

        def evaluate_and_export(checkpoint: str) -> Any:
            result = self._evaluate(input_fn, name, self._eval_steps, checkpoint) or {}
            self._export(result, checkpoint)
            return result

        watch_checkpoints(
            self._estimator.model_dir,
            evaluate_and_export,
            throttle=self._throttle_secs if throttle_delay_secs is None else throttle_delay_secs,
            only_once=only_once,
            go_on=predicate,
            last_step=self._train_steps,
        )

    def _train(self, hooks: Any, steps: int | None = None, max_steps: int | None = None) -> Any:
        if not self._core:
            return self._estimator.fit(
                input_fn=self._train_input_fn, steps=steps, max_steps=max_steps, monitors=hooks
            )
        return self._estimator.train(
            input_fn=self._train_input_fn,
            steps=steps,
            max_steps=max_steps,
            hooks=monitors.replace_monitors_with_hooks(hooks, self._estimator),
            saving_listeners=self._saving_listeners,
        )

    def _evaluate(
        self,
        input_fn: Callable[[], Any],
        name: str | None,
        steps: int | None,
        checkpoint_path: str | None = None,
    ) -> Any:
        options: dict[str, Any] = {} if self._core else {"metrics": self._eval_metrics}
        return self._estimator.evaluate(
            input_fn=input_fn,
            steps=steps,
            name=name,
            checkpoint_path=checkpoint_path,
            hooks=self._eval_hooks,
            **options,
        )

    def _export(self, eval_result: Any, checkpoint_path: str | None = None) -> list[Any]:
        base = os.path.join(tf.compat.as_text(self._estimator.model_dir), "export")
        return [
            strategy.export(
                self._estimator,
                os.path.join(base, tf.compat.as_text(strategy.name)),
                checkpoint_path=checkpoint_path,
                eval_result=eval_result,
            )
            for strategy in self._export_strategies
        ]

    @contextlib.contextmanager
    def _changed(self, **attributes: Any) -> Iterator[None]:
        former = {name: getattr(self, name) for name in attributes}
        self.__dict__.update(attributes)
        try:
            yield
        finally:
            self.__dict__.update(former)
