"""`tf.contrib.learn.learn_runner`: makes an Experiment and runs the schedule of this task."""

import inspect
from collections.abc import Callable
from typing import Any

from danlu_runtime.tf1.contrib.learn.estimators.run_config import ClusterConfig, TaskType
from danlu_runtime.tf1.contrib.learn.experiment import Experiment
from danlu_runtime.tf1.estimator import public

__all__ = ["run"]

GONE = {"tune": "removed.tune"}

_SCHEDULES = {
    TaskType.MASTER: "train_and_evaluate",
    TaskType.PS: "run_std_server",
    TaskType.WORKER: "train",
    "chief": "train_and_evaluate",
    "evaluator": "continuous_eval",
}


def run(
    experiment_fn: Callable[..., Experiment],
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: Any = None,
    hparams: Any = None,
) -> Any:
    """Call `experiment_fn` and then the method of its Experiment that `schedule` names.

    It is called as `experiment_fn(output_dir)`, or as `experiment_fn(run_config, hparams)` where a
    `run_config` is given. Without a schedule the role of this task in the cluster decides.
    """
    if output_dir is not None and run_config is not None:
        raise ValueError("Cannot provide both `output_dir` and `run_config`.")
    if not callable(experiment_fn):
        raise TypeError(f"Experiment builder {experiment_fn!r} is not callable.")
    if run_config is None:
        if not output_dir:
            raise ValueError("Must specify an output directory, or a `run_config`.")
        if hparams is not None:
            raise ValueError("Must set `run_config` to be able to use `hparams`.")
        by_name = "output_dir" in inspect.signature(experiment_fn).parameters
        experiment = experiment_fn(output_dir=output_dir) if by_name else experiment_fn(output_dir)
        config = ClusterConfig()
    else:
        experiment = _configured(experiment_fn, run_config, hparams)
        config = run_config
    if not isinstance(experiment, Experiment):
        raise TypeError(
            "Experiment builder did not return an Experiment instance, got "
            f"{type(experiment)} instead."
        )
    return _task(experiment, schedule or _default_schedule(config))()


def _configured(experiment_fn: Callable[..., Any], run_config: Any, hparams: Any) -> Any:
    if not isinstance(run_config, public().RunConfig):
        raise ValueError(f"`run_config` must be a RunConfig instance, got {run_config!r}.")
    if not run_config.model_dir:
        raise ValueError("Must specify a model directory `model_dir` in `run_config`.")
    experiment = experiment_fn(run_config=run_config, hparams=hparams)
    if isinstance(experiment, Experiment):
        used = experiment.estimator.config.model_dir
        if used != run_config.model_dir:
            raise RuntimeError(
                "`RunConfig` instance is expected to be used by the `Estimator` inside the "
                f"`Experiment`. expected model_dir {run_config.model_dir}, but got {used}."
            )
    return experiment


def _task(experiment: Experiment, schedule: str) -> Callable[[], Any]:
    task = getattr(experiment, schedule, None)
    known = [name for name in dir(experiment) if not name.startswith("_")]
    methods = [name for name in known if callable(getattr(experiment, name))]
    if task is None:
        raise ValueError(
            f"Schedule references non-existent task {schedule}. Allowed values are: {methods}"
        )
    if not callable(task):
        raise TypeError(
            f"Schedule references non-callable member {schedule}. Allowed values are: {methods}"
        )
    return task


def _default_schedule(config: Any) -> str:
    nodes = config.cluster_spec.as_dict() if config.cluster_spec else {}
    if sum(len(addresses) for addresses in nodes.values()) <= 1:
        return "train_and_evaluate"
    if not config.task_type:
        raise ValueError("Must specify a schedule: TF_CONFIG has a cluster but no task type.")
    if config.task_type not in _SCHEDULES:
        raise ValueError(f"No default schedule for task type: {config.task_type}")
    return _SCHEDULES[config.task_type]
