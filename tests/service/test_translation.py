"""What the code of a job needed, by all its tasks together."""

import pytest

from danlu.errors import NotFound
from danlu.job.status import MAX_NOTES, Note, Translation, merge_translations

REPAIRED = Note("repaired", "print statements", "train.py", 3)
MAPPED = Note("mapped", "tf.contrib.layers is tf_slim", "train.py", 9)


def test_tasks_of_one_job_report_the_same_once(platform, request_of):
    platform.executor.cpus = 4
    job = platform.service.submit({**request_of, "nodes": 2, "framework_version": "1.14"})
    platform.tick()
    for task, notes in (("worker-0", [REPAIRED]), ("worker-1", [REPAIRED, MAPPED])):
        platform.executor.files(job.id, 1, task).write_translation(Translation(tuple(notes)))

    reported = platform.service.translation(job.name)

    assert reported.translation.notes == (REPAIRED, MAPPED)
    assert (reported.attempt, reported.job.spec.tensorflow) == (1, "1.14.0")


def test_queued_job_has_no_translation_report(platform, request_of):
    job = platform.service.submit(request_of)

    assert platform.service.translation(job.id).translation == Translation()


def test_an_attempt_that_was_not_made_is_none(platform, request_of):
    job = platform.service.submit(request_of)

    with pytest.raises(NotFound, match="no attempt named '2'"):
        platform.service.translation(job.id, attempt=2)


def test_what_is_beyond_the_bounds_is_counted():
    many = Translation(tuple(Note("mapped", str(n)) for n in range(MAX_NOTES)), left_out=3)

    both = merge_translations([many, Translation((REPAIRED,), left_out=1)])

    assert (len(both.notes), both.left_out) == (MAX_NOTES, 5)
