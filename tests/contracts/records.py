"""The contract tests for implementations of ``Records``.

Subclass :class:`RecordsContract` and define a ``records`` fixture. A persistent implementation also
overrides ``reopen``.
"""

import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from danlu.errors import Conflict, NotFound, Refused
from danlu.job.job import Job, new_id
from danlu.job.spec import JobSpec
from danlu.job.state import JobState, Reason, WriteGuard
from danlu.records.api import Records


class DefinitionsContract:
    """Tests of definitions. Uses the ``reopen`` fixture of ``RecordsContract``."""

    def test_a_definition_has_numbered_versions(self, records: Records) -> None:
        first = records.define("algorithm", "mnist", {"code": "a"}, 1.0)
        second = records.define("algorithm", "mnist", {"code": "b"}, 2.0)

        assert (first.version, second.version) == (1, 2)
        assert records.definition("algorithm", "mnist") == second
        assert records.definition("algorithm", "mnist", 1) == first
        assert records.definitions("algorithm", "mnist") == (second, first)

    def test_a_repeated_definition_is_the_newest_version(self, records: Records) -> None:
        first = records.define("algorithm", "mnist", {"code": "a", "inputs": []}, 1.0)

        assert records.define("algorithm", "mnist", {"inputs": [], "code": "a"}, 5.0) == first
        records.define("algorithm", "mnist", {"code": "b"}, 6.0)
        back = records.define("algorithm", "mnist", {"code": "a", "inputs": []}, 7.0)
        assert back.version == 3

    def test_kinds_of_definitions_are_apart(self, records: Records) -> None:
        algorithm = records.define("algorithm", "mnist", {"code": "a"}, 1.0)
        dataset = records.define("dataset", "mnist", {"uri": "u"}, 1.0)

        assert dataset.version == 1
        assert records.definitions("algorithm") == (algorithm,)
        records.undefine("algorithm", "mnist")
        assert records.definition("dataset", "mnist") == dataset

    def test_definitions_are_listed_with_newest_version(
        self, records: Records, reopen: Callable[[Records], Records]
    ) -> None:
        for uri, name in enumerate(("b", "a", "b")):
            records.define("dataset", name, {"uri": str(uri)}, 1.0)

        again = reopen(records)

        assert [(d.name, d.version) for d in again.definitions("dataset")] == [("a", 1), ("b", 2)]
        assert again.definitions("dataset", "c") == ()

    def test_number_of_removed_version_is_not_given_again(self, records: Records) -> None:
        for code in "abc":
            records.define("algorithm", "mnist", {"code": code}, 1.0)

        records.undefine("algorithm", "mnist", 3)

        assert records.definition("algorithm", "mnist").version == 2
        assert records.define("algorithm", "mnist", {"code": "c"}, 1.0).version == 4
        records.undefine("algorithm", "mnist")
        assert records.definitions("algorithm") == ()
        assert records.define("algorithm", "mnist", {"code": "c"}, 1.0).version == 5

    def test_definition_that_is_not_there_offers_what_is(self, records: Records) -> None:
        records.define("dataset", "mnist", {"uri": "a"}, 1.0)
        records.define("dataset", "mnist", {"uri": "b"}, 1.0)

        for look in (records.definition, records.undefine):
            with pytest.raises(NotFound, match="no data set named 'mnits'") as caught:
                look("dataset", "mnits")
            assert caught.value.hint == "Did you mean 'mnist'?"
            with pytest.raises(NotFound, match="no data set named 'mnist:9'") as caught:
                look("dataset", "mnist", 9)
            assert caught.value.hint == "Its versions: 1, 2."
            with pytest.raises(NotFound):
                look("dataset", "\udce4")

    def test_threads_defining_one_name_get_different_numbers(self, records: Records) -> None:
        together = threading.Barrier(4)

        def define(index: int) -> int:
            together.wait()
            return records.define("dataset", "mnist", {"uri": str(index)}, 1.0).version

        with ThreadPoolExecutor(4) as pool:
            assert sorted(pool.map(define, range(4))) == [1, 2, 3, 4]


_seconds = itertools.count(1_700_000_000)


def a_job(name: str, *, priority: int = 0, state: JobState = JobState.QUEUED, id: str = "") -> Job:
    """Return a job that is newer than all jobs returned before."""
    created = float(next(_seconds))
    spec = JobSpec(name, "modelarts", "danlu://code/0.tar.gz", "train.py", priority=priority)
    return Job(id or new_id(created), name, spec, created, state=state)


LONG, OVER = 600.0, -600.0


class LeasesContract:
    """Tests of leases, write guards and agreements."""

    def test_each_time_server_takes_its_lease_number_grows(self, records: Records) -> None:
        first, second = records.take("one", LONG), records.take("one", LONG)

        assert second.fence == first.fence + 1
        assert records.take("two", LONG).fence == 1

    def test_servers_are_listed_with_remaining_lease_time(self, records: Records) -> None:
        records.take("two", OVER, host="b")
        records.take("one", LONG, host="a", executor="ray", url="http://a:9420")

        one, two = records.servers()

        assert (one.name, one.host, one.living) == ("one", "a", True)
        assert (one.executor, one.url) == ("ray", "http://a:9420")
        assert (two.name, two.host, two.living) == ("two", "b", False)
        assert LONG - 60 < one.left <= LONG

    def test_a_lease_is_renewed_while_it_holds(self, records: Records) -> None:
        lease = records.take("one", LONG)

        assert records.renew(lease, 2 * LONG)
        assert records.servers()[0].left > LONG

    def test_a_lease_that_has_ended_is_not_renewed(self, records: Records) -> None:
        assert not records.renew(records.take("one", OVER), LONG)

    def test_an_older_number_is_not_renewed(self, records: Records) -> None:
        older = records.take("one", LONG)
        records.take("one", LONG)

        assert not records.renew(older, LONG)

    def test_holder_of_a_lease_can_write(self, records: Records, job: Job) -> None:
        saved = records.save(job, WriteGuard(records.take("one", LONG)))

        assert saved is not None
        assert records.get(job.id) == saved

    def test_expired_lease_cannot_write(self, records: Records, job: Job) -> None:
        assert records.save(job, WriteGuard(records.take("one", OVER))) is None
        assert records.get(job.id) == job

    def test_older_fencing_token_cannot_write(self, records: Records, job: Job) -> None:
        older = records.take("one", LONG)
        records.take("one", LONG)

        assert records.save(job, WriteGuard(older)) is None
        assert records.get(job.id) == job

    def test_takeover_requires_a_long_expired_lease(self, records: Records, job: Job) -> None:
        mine = records.take("one", LONG)
        records.take("two", LONG)
        assert records.save(job, WriteGuard(mine, over="two")) is None
        records.take("two", OVER)
        assert records.save(job, WriteGuard(mine, over="two", since=2 * LONG)) is None

        assert records.save(job, WriteGuard(mine, over="two", since=LONG / 2)) is not None

    def test_unknown_server_is_gone(self, records: Records, job: Job) -> None:
        mine = records.take("one", LONG)

        assert records.save(job, WriteGuard(mine, over="nobody", since=LONG)) is not None

    def test_one_of_several_servers_gets_a_job(self, records: Records, job: Job) -> None:
        rights = [WriteGuard(records.take(f"server-{number}", LONG)) for number in range(4)]
        together = threading.Barrier(4)

        def want(right: WriteGuard) -> bool:
            together.wait()
            mine = replace(job, runs_on=right.lease.server).moved(JobState.STARTING, 1.0)
            return records.save(mine, right) is not None

        with ThreadPoolExecutor(4) as pool:
            won = list(pool.map(want, rights))
        assert won.count(True) == 1
        assert records.get(job.id).runs_on == rights[won.index(True)].lease.server

    def test_what_is_agreed_on_stays(self, records: Records) -> None:
        assert records.agree("store", "a") == "a"
        assert records.agree("store", "b") == "a"
        assert records.agree("other", "b") == "b"

    def test_check_sees_every_job_that_was_added_before(self, records: Records, job: Job) -> None:
        together = threading.Barrier(4)

        def only_one_more(living: Sequence[Job]) -> None:
            if len(living) > 1:
                raise Refused("There is one already.")

        def submit(number: int) -> bool:
            together.wait()
            other = replace(job, id=f"{number:012d}", name=f"job-{number}")
            try:
                records.add(other, check=only_one_more)
            except Refused:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(submit, range(4))).count(True) == 1
        assert len(records.page()) == 2

    @pytest.fixture
    def job(self, records: Records) -> Job:
        return records.add(a_job("mnist"))


class ListingsContract:
    """Tests of lists of jobs."""

    def test_the_living_come_by_priority_then_by_age(self, records: Records) -> None:
        oldest, urgent, newest = a_job("oldest"), a_job("urgent", priority=5), a_job("newest")
        for job in (newest, a_job("ended", state=JobState.SUCCEEDED), urgent, oldest):
            records.add(job)

        assert records.living() == (urgent, oldest, newest)

    def test_active_jobs_are_read_in_current_version(self, records: Records) -> None:
        one, two = records.add(a_job("one")), records.add(a_job("two"))
        assert records.living() == (one, two)

        changed = records.save(replace(one, attempt=2))
        records.save(two.moved(JobState.STOPPED, 3.0, Reason.STOPPED_BY_USER))
        three = records.add(a_job("three"))

        assert records.living() == (changed, three)

    def test_page_is_newest_first_and_continues_before_id(self, records: Records) -> None:
        made = [records.add(a_job(f"job-{index}")) for index in range(5)]

        first = records.page(limit=2)
        assert first == (made[4], made[3])
        assert records.page(limit=2, before=first[-1].id) == (made[2], made[1])
        assert records.page(limit=2, before=made[0].id) == ()

    def test_pages_are_stable_when_jobs_change(self, records: Records) -> None:
        made = [records.add(a_job(f"job-{index}")) for index in range(4)]
        first = records.page(limit=2)

        records.add(a_job("newcomer"))
        records.remove(first[-1].id)

        assert records.page(limit=2, before=first[-1].id) == (made[1], made[0])

    def test_page_is_filtered_by_state_and_name(self, records: Records) -> None:
        for index, state in enumerate(JobState):
            records.add(a_job(f"mnist_{index}", state=state))
            records.add(a_job(f"Flowers-{index}", state=state))

        def names(states: tuple[JobState, ...] = (), name: str = "") -> list[str]:
            return [job.name for job in records.page(states=states, name=name)]

        assert names((JobState.QUEUED,)) == ["Flowers-0", "mnist_0"]
        assert names((JobState.STARTING, JobState.QUEUED), "mnist") == ["mnist_1", "mnist_0"]
        assert names(name="owers-1") == ["Flowers-1"]
        assert names(name="flowers-1") == ["Flowers-1"]
        assert names(name="T_2") == ["mnist_2"]
        assert names(name="%") == []
        assert names(name="\udce4") == []


class RecordsContract(ListingsContract, DefinitionsContract, LeasesContract):
    """All tests that an implementation of ``Records`` must pass."""

    @pytest.fixture
    def reopen(self) -> Callable[[Records], Records]:
        """Return a function that closes the records and opens them again."""
        return lambda records: records

    def test_job_is_found_by_id_and_by_name(self, records: Records) -> None:
        job = records.add(a_job("mnist"))

        assert records.get(job.id) == job
        assert records.get("mnist") == job

    def test_new_job_is_returned_as_it_was_given(self, records: Records) -> None:
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

    def test_repeated_token_returns_first_job_in_current_state(self, records: Records) -> None:
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

    def test_jobs_without_token_are_different_jobs(self, records: Records) -> None:
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

    def test_removed_job_is_forgotten_with_name_and_token(self, records: Records) -> None:
        first = records.add(a_job("mnist"), "token")

        records.remove(first.id)
        records.remove(first.id)

        with pytest.raises(NotFound):
            records.get(first.id)
        second = a_job("mnist")
        assert records.add(second, "token") == second

    def test_beginning_of_id_or_name_is_enough(self, records: Records) -> None:
        first = records.add(a_job("mnist", id="aaaa00000001"))
        second = records.add(a_job("flowers", id="bbbb00000001"))

        assert records.get("aaaa") == first
        assert records.get("mn") == first
        assert records.get("flow") == second

    def test_whole_name_wins_over_beginning_of_another(self, records: Records) -> None:
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

    def test_of_writers_that_read_same_version_one_wins(self, records: Records) -> None:
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

    def test_threads_with_one_token_get_one_job(self, records: Records) -> None:
        together = threading.Barrier(4)

        def submit(index: int) -> str:
            together.wait()
            return records.add(a_job(f"job-{index}"), "token").id

        with ThreadPoolExecutor(4) as pool:
            ids = set(pool.map(submit, range(4)))
        assert ids == {job.id for job in records.page()}
        assert len(ids) == 1
