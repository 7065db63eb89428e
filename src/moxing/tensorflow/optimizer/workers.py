"""Which of how many workers this process is, and where it keeps what is its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.utils.hyper_param_flags import mox_flags


@dataclass(frozen=True)
class Workers:
    count: int = 1
    index: int = 0

    @classmethod
    def of_flags(cls) -> "Workers":
        """Read the command line: without a job_name this process is the only one."""
        if not mox_flags.job_name:
            return cls()
        return cls(len(mox_flags.worker_hosts.split(",")), mox_flags.task_index)

    @property
    def several(self) -> bool:
        return self.count > 1

    def own_variable(self, name: str, like: Any, initial: Callable[[], Any]) -> tf.Variable:
        """Return a variable of this worker that no other one sees.

        One process alone keeps it in its checkpoints, and so goes on where it stopped.
        """
        collection = "LOCAL_VARIABLES" if self.several else "GLOBAL_VARIABLES"
        place = f"/job:worker/task:{self.index}" if self.several else like.device
        # Made outside of tf.cond, whichever branch asks for it.
        with tf.init_scope(), tf.name_scope(None), tf.device(place):
            return tf.Variable(
                initial,
                name=name,
                trainable=False,
                use_resource=True,
                collections=[getattr(tf.GraphKeys, collection)],
            )
