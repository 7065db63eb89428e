"""``FeedingQueueRunner``, which the estimators' input functions are made of."""

from tensorflow_estimator.python.estimator.inputs.queues.feeding_queue_runner import (
    _FeedingQueueRunner as FeedingQueueRunner,
)

__all__ = ["FeedingQueueRunner"]
