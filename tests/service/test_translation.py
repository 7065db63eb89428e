"""What the code of a job needed, by all its tasks together."""

import pytest

from danlu.errors import NotFound
from danlu.job.translation import MOST, Note, Translation, merged

REPAIRED = Note("repaired", "print statements", "train.py", 3)
MAPPED = Note("mapped", "tf.contrib.layers is tf_slim", "train.py", 9)


def test_tasks_of_one_job_tell_the_same_once(house, request_of):
    house.executor.cpus = 4
    job = house.service.submit({**request_of, "nodes": 2, "framework_version": "1.14"})
    house.tick()
    for task, notes in (("worker-0", [REPAIRED]), ("worker-1", [REPAIRED, MAPPED])):
        house.executor.files(job.id, 1, task).translate(Translation(tuple(notes)))

    told = house.service.translation(job.name)

    assert told.translation.notes == (REPAIRED, MAPPED)
    assert (told.attempt, told.job.spec.tensorflow) == (1, "1.14.0")


def test_a_job_that_waits_has_told_nothing(house, request_of):
    job = house.service.submit(request_of)

    assert house.service.translation(job.id).translation == Translation()


def test_an_attempt_that_was_not_made_is_none(house, request_of):
    job = house.service.submit(request_of)

    with pytest.raises(NotFound, match="no attempt named '2'"):
        house.service.translation(job.id, attempt=2)


def test_what_is_beyond_the_bounds_is_counted():
    many = Translation(tuple(Note("mapped", str(n)) for n in range(MOST)), left_out=3)

    both = merged([many, Translation((REPAIRED,), left_out=1)])

    assert (len(both.notes), both.left_out) == (MOST, 5)
