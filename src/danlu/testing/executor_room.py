"""What every executor must do about room: all tasks of a job get it, or none does."""

from collections.abc import Callable

import pytest

from danlu.errors import InvalidJob, NoCapacity
from danlu.executors.api import Executor
from danlu.job.job import new_id
from danlu.job.plan import Role
from danlu.testing.bench import Bench


class RoomContract:
    """A part of :class:`danlu.testing.executor.ExecutorContract`, which tells what it needs."""

    def test_a_place_holds_nothing(self, bench: Bench) -> None:
        bench.executor.place(bench.job_id, [Role("worker", count=2)])

        assert list(bench.executor.held()) == []

    def test_a_job_that_can_never_fit_is_told_so(self, bench: Bench) -> None:
        room = bench.executor.capacity()

        with pytest.raises(InvalidJob) as caught:
            bench.executor.place(bench.job_id, [Role("worker", cpus=room.cpus + 1)])

        # A machine says what each may ask for, a cluster that it is too small.
        assert [field for field, _ in caught.value.faults] in (["cpus"], ["nodes"])

    def test_nodes_that_fit_one_by_one_but_not_together_are_told_so(self, bench: Bench) -> None:
        room = bench.executor.capacity()

        with pytest.raises(InvalidJob) as caught:
            bench.executor.place(bench.job_id, [Role("worker", count=int(room.cpus) + 1)])

        # A machine says what each may ask for, a cluster that it is too small.
        assert [field for field, _ in caught.value.faults] in (["cpus"], ["nodes"])

    def test_room_is_held_for_all_tasks_or_for_none(self, bench: Bench) -> None:
        room = bench.executor.capacity()
        bench.executor.reserve(new_id(), [Role("worker", cpus=room.cpus - 1)])

        with pytest.raises(NoCapacity):
            bench.executor.reserve(bench.job_id, [Role("worker", count=2)])

        assert bench.job_id not in bench.executor.held()
        assert bench.executor.reserve(bench.job_id, [Role("worker")])

    def test_asked_again_the_places_are_the_same(
        self, bench: Bench, open_executor: Callable[[], Executor]
    ) -> None:
        roles = [Role("ps", cpus=0.5, decides=False), Role("worker", cpus=0.5)]

        first = bench.executor.reserve(bench.job_id, roles)

        assert list(bench.executor.reserve(bench.job_id, roles)) == list(first)
        assert list(open_executor().reserve(bench.job_id, roles)) == list(first)

    def test_room_held_before_a_restart_is_still_held(
        self, bench: Bench, open_executor: Callable[[], Executor]
    ) -> None:
        whole = [Role("worker", cpus=bench.executor.capacity().cpus)]
        bench.executor.reserve(bench.job_id, whole)

        after = open_executor()

        assert list(after.held()) == [bench.job_id]
        with pytest.raises(NoCapacity):
            after.reserve(new_id(), whole)
        after.release(bench.job_id)
        after.release(bench.job_id)
        assert after.reserve(new_id(), whole)

    def test_no_gpu_is_given_to_two_tasks(self, bench: Bench) -> None:
        first = bench.executor.reserve(bench.job_id, [Role("worker", gpus=1)])
        second = bench.executor.reserve(new_id(), [Role("worker", gpus=1)])

        assert len({*first[0].gpus, *second[0].gpus}) == 2

    def test_tasks_of_one_job_know_each_other(self, bench: Bench) -> None:
        places = bench.executor.reserve(
            bench.job_id, [Role("ps", decides=False), Role("worker", cpus=0.5, count=2)]
        )

        assert [place.task for place in places] == ["ps-0", "worker-0", "worker-1"]
        assert len({place.port for place in places}) == 3
        peers = [f"{place.host}:{place.port}" for place in places]
        assert places[2].peers == {"ps": (peers[0],), "worker": (peers[1], peers[2])}
