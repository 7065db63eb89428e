"""`tf.contrib.learn.RunConfig`: how a run is configured, its place in a cluster from TF_CONFIG.

It is a `tf.estimator.RunConfig` too, and differs from it as it did in TensorFlow 1: a cluster
needs no chief (worker 0 is it), `environment` is read, and the master is an argument.
"""

import json
import os
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.estimator import public

DEFAULT_CHECKPOINT_SECONDS = 600
# What `uid` leaves out: it may change between two parts of one run.
_REPLACEABLE = frozenset(
    f"_{name}"
    for name in (
        "tf_random_seed",
        "save_summary_steps",
        "save_checkpoints_steps",
        "save_checkpoints_secs",
        "session_config",
        "keep_checkpoint_max",
        "keep_checkpoint_every_n_hours",
        "log_step_count_steps",
    )
)


class Environment:
    CLOUD = "cloud"
    GOOGLE = "google"
    LOCAL = "local"


class TaskType:
    MASTER = "master"
    PS = "ps"
    WORKER = "worker"


class ClusterConfig:
    """The place of this process in a cluster, read from TF_CONFIG."""

    def __init__(self, master: str | None = None, evaluation_master: str = "") -> None:
        self._read_cluster(_tf_config(), master, evaluation_master)

    def _read_cluster(
        self, config: dict[str, Any], master: str | None, evaluation_master: str
    ) -> None:
        task = config.get("task") or {}
        self._task_type = task.get("type")
        self._task_id = self.get_task_id()
        self._cluster_spec = tf.train.ClusterSpec(config.get("cluster") or {})
        self._environment = config.get("environment", Environment.LOCAL)
        self._master = self._find_master() if master is None else master
        self._evaluation_master = evaluation_master or ""
        nodes = self._cluster_spec.as_dict()
        self._num_ps_replicas = len(nodes.get(TaskType.PS, []))
        self._num_worker_replicas = len(nodes.get(TaskType.WORKER, []))
        self._is_chief = self._decide_chief()

    def _find_master(self) -> str:
        nodes = self._cluster_spec.as_dict()
        # One node alone needs no server.
        if sum(len(addresses) for addresses in nodes.values()) <= 1 or not self._task_type:
            return ""
        if self._task_type not in nodes:
            raise ValueError(
                f"{self._task_type} is not a valid task_type in the cluster_spec {nodes}. "
                "These values may be coming from the TF_CONFIG environment variable."
            )
        addresses = nodes[self._task_type]
        if not 0 <= self._task_id < len(addresses):
            raise ValueError(
                f"{self._task_id} is not a valid task_id for task_type {self._task_type} in the "
                f"cluster_spec {nodes}. These values may be coming from the TF_CONFIG "
                "environment variable."
            )
        return f"grpc://{addresses[self._task_id]}"

    def _decide_chief(self) -> bool:
        if self._task_type is None:
            return self._task_id == 0
        in_cloud = self._environment == Environment.CLOUD
        chief = TaskType.MASTER if in_cloud else TaskType.WORKER
        return self._task_type == chief and self._task_id == 0

    @property
    def cluster_spec(self) -> Any:
        return self._cluster_spec

    @property
    def environment(self) -> str:
        return self._environment

    @property
    def evaluation_master(self) -> str:
        return self._evaluation_master

    @property
    def is_chief(self) -> bool:
        return self._is_chief

    @property
    def master(self) -> str:
        return self._master

    @property
    def num_ps_replicas(self) -> int:
        return self._num_ps_replicas

    @property
    def num_worker_replicas(self) -> int:
        return self._num_worker_replicas

    @property
    def task_id(self) -> int:
        return self._task_id

    @property
    def task_type(self) -> str | None:
        return self._task_type

    @staticmethod
    def get_task_id() -> int:
        """Return the task index of TF_CONFIG, 0 where there is none."""
        index = (_tf_config().get("task") or {}).get("index")
        return int(index) if index else 0


_RunConfig: Any = public().RunConfig


class RunConfig(ClusterConfig, _RunConfig):
    """Settings of one Estimator run; `config.tf_config` is the session's ConfigProto."""

    _USE_DEFAULT = 0

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int = 100,
        save_checkpoints_secs: int | None = _USE_DEFAULT,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: str | None = None,
        session_config: Any = None,
        session_creation_timeout_secs: int = 7200,
    ) -> None:
        self._wanted_master = master
        self._wanted_evaluation_master = evaluation_master
        if save_checkpoints_secs == RunConfig._USE_DEFAULT and save_checkpoints_secs is not None:
            default = DEFAULT_CHECKPOINT_SECONDS if save_checkpoints_steps is None else None
            save_checkpoints_secs = default
        self._tf_config = tf.ConfigProto(
            log_device_placement=log_device_placement,
            inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
        )
        asked_for_a_session = num_cores or log_device_placement or gpu_memory_fraction != 1
        if session_config is None and asked_for_a_session:
            session_config = self._tf_config
        public().RunConfig.__init__(
            self,
            model_dir=model_dir,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=save_checkpoints_secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            protocol=protocol,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )

    def _init_distributed_setting_from_environment_var(self, tf_config: dict[str, Any]) -> None:
        self._read_cluster(tf_config, self._wanted_master, self._wanted_evaluation_master)
        self._service = tf_config.get("service")
        self._global_id_in_cluster = None

    @property
    def tf_config(self) -> Any:
        return self._tf_config

    def uid(self, whitelist: list[str] | None = None) -> str:
        """Return a text that is equal if two configurations are of the same run."""
        left_out = _REPLACEABLE if whitelist is None else {f"_{name}" for name in whitelist}
        state = {key: value for key, value in self.__dict__.items() if key not in left_out}
        state["_cluster_spec"] = self._cluster_spec.as_dict()
        return ", ".join(f"{key}={value!r}" for key, value in sorted(state.items()))


def _tf_config() -> dict[str, Any]:
    return json.loads(os.environ.get("TF_CONFIG") or "{}")
