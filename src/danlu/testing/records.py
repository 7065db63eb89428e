"""What every record store must do. Subclass it and give it a ``records`` fixture.

A store that lives longer than its object also overrides ``reopen``.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from danlu.errors import Conflict, NotFound
from danlu.job.state import JobState, Reason
from danlu.records.api import Records
from danlu.testing.definitions import DefinitionsContract
from danlu.testing.jobs import a_job
from danlu.testing.leases import LeasesContract
from danlu.testing.listings import ListingsContract


class RecordsContract(ListingsContract, DefinitionsContract, LeasesContract):
    @pytest.fixture
    def reopen(self) -> Callable[[Records], Records]:
        """Close a store and open what it left."""
        return lambda records: records

    def test_a_job_is_found_by_id_and_by_name(self, records: Records) -> None:
        job = records.add(a_job("mnist"))

        assert records.get(job.id) == job
        assert records.get("mnist") == job

    def test_a_new_job_is_returned_as_it_was_given(self, records: Records) -> None:
        job = a_job("mnist")

        assert records.add(job) == job

    def test_what_was_written_is_there_after_reopening(
        self, records: Records, reopen: Callable[[Records], Records]
    ) -> None:
        job = records.add(a_job("mnist"), "token")
        saved = records.save(job.moved(JobState.STARTING, 1.5))

        again = reopen(records)

        assert again.get(job.id) == saved
        assert again.add(a_job("other"), "token") == saved

    def test_a_repeated_token_returns_the_first_job_as_it_is_now(self, records: Records) -> None:
        first = records.add(a_job("mnist"), "token")
        now = records.save(replace(first, stop_requested=True))

        assert records.add(a_job("other"), "token") == now
        assert records.add(a_job("mnist"), "token") == now
        assert len(records.page()) == 1

    def test_a_job_is_found_by_its_token(self, records: Records) -> None:
        job = records.add(a_job("mnist"), "token")
        records.add(a_job("other"))

        assert records.by_token("token") == job
        assert records.by_token("another") is None
        assert records.by_token("") is None

    def test_jobs_without_a_token_are_not_repeats_of_each_other(self, records: Records) -> None:
        records.add(a_job("a"))
        records.add(a_job("b"))

        assert len(records.page()) == 2

    def test_a_name_is_given_once(self, records: Records) -> None:
        first = records.add(a_job("mnist"))

        with pytest.raises(Conflict, match="already a job named 'mnist'"):
            records.add(a_job("mnist"), "token")

        assert records.page() == (first,)

    def test_an_id_is_given_once(self, records: Records) -> None:
        first = records.add(a_job("mnist"))

        with pytest.raises(Conflict, match=f"already a job with the id '{first.id}'"):
            records.add(a_job("other", id=first.id))

    def test_a_removed_job_is_forgotten_with_its_name_and_token(self, records: Records) -> None:
        first = records.add(a_job("mnist"), "token")

        records.remove(first.id)
        records.remove(first.id)

        with pytest.raises(NotFound):
            records.get(first.id)
        second = a_job("mnist")
        assert records.add(second, "token") == second

    def test_the_beginning_of_an_id_or_a_name_is_enough(self, records: Records) -> None:
        first = records.add(a_job("mnist", id="aaaa00000001"))
        second = records.add(a_job("flowers", id="bbbb00000001"))

        assert records.get("aaaa") == first
        assert records.get("mn") == first
        assert records.get("flow") == second

    def test_a_whole_name_wins_over_the_beginning_of_another(self, records: Records) -> None:
        records.add(a_job("mnist-2"))
        exact = records.add(a_job("mnist"))
        records.add(a_job("mnist-3"))

        assert records.get("mnist") == exact

    def test_an_id_wins_over_a_name(self, records: Records) -> None:
        job = records.add(a_job("mnist"))
        records.add(a_job(job.id))

        assert records.get(job.id) == job

    def test_a_beginning_that_several_have_names_them(self, records: Records) -> None:
        for name in ("mnist-1", "mnist-2", "flowers"):
            records.add(a_job(name))

        with pytest.raises(NotFound) as caught:
            records.get("mnist")

        assert "mnist-1" in caught.value.hint
        assert "mnist-2" in caught.value.hint
        assert "flowers" not in caught.value.hint

    def test_a_near_name_is_offered(self, records: Records) -> None:
        records.add(a_job("mnist"))

        with pytest.raises(NotFound, match="no job named 'mnits'") as caught:
            records.get("mnits")

        assert caught.value.hint == "Did you mean 'mnist'?"

    @pytest.mark.parametrize("reference", ["", "%", "_nist", "MNIST", "a\0b", "\udce4", "'--", "é"])
    def test_what_is_no_reference_finds_nothing(self, records: Records, reference: str) -> None:
        records.add(a_job("mnist"))

        with pytest.raises(NotFound):
            records.get(reference)

    def test_saving_returns_the_next_version(self, records: Records) -> None:
        job = records.add(a_job("mnist"))

        saved = records.save(job.moved(JobState.FAILED, 2.0, Reason.FETCH_FAILED))

        assert saved is not None
        assert saved.version == job.version + 1
        assert saved.state is JobState.FAILED
        assert records.get(job.id) == saved

    def test_a_write_with_an_old_version_changes_nothing(self, records: Records) -> None:
        job = records.add(a_job("mnist"))
        saved = records.save(replace(job, notes=("first",)))

        assert records.save(replace(job, notes=("second",))) is None
        assert records.get(job.id) == saved

    def test_a_removed_job_cannot_be_saved(self, records: Records) -> None:
        job = records.add(a_job("mnist"))
        records.remove(job.id)

        assert records.save(job) is None
        assert records.page() == ()

    def test_of_writers_that_read_the_same_version_one_wins(self, records: Records) -> None:
        job = records.add(a_job("mnist"))
        together = threading.Barrier(4)

        def write(writer: int) -> int:
            together.wait()
            won, current = 0, job
            while won < 10:
                saved = records.save(replace(current, attempt=current.attempt + 1))
                won += saved is not None
                current = saved or records.get(job.id)
            return won

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(write, range(4))) == [10] * 4
        assert records.get(job.id).attempt == job.attempt + 40

    def test_of_threads_that_bring_one_token_all_get_one_job(self, records: Records) -> None:
        together = threading.Barrier(4)

        def submit(index: int) -> str:
            together.wait()
            return records.add(a_job(f"job-{index}"), "token").id

        with ThreadPoolExecutor(4) as pool:
            ids = set(pool.map(submit, range(4)))
        assert ids == {job.id for job in records.page()}
        assert len(ids) == 1
