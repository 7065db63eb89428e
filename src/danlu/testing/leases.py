"""What every record store must do for servers that share it; used by ``RecordsContract``.

Times are given, not waited for: a lease of no or of negative length has ended at once.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from danlu.errors import Refused
from danlu.job.job import Job
from danlu.job.server import Right
from danlu.job.state import JobState
from danlu.records.api import Records
from danlu.testing.jobs import a_job

LONG, OVER = 600.0, -600.0


class LeasesContract:
    def test_each_time_a_server_takes_its_lease_the_number_grows(self, records: Records) -> None:
        first, second = records.take("one", LONG), records.take("one", LONG)

        assert second.fence == first.fence + 1
        assert records.take("two", LONG).fence == 1

    def test_servers_are_told_with_what_is_left_of_their_leases(self, records: Records) -> None:
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

    def test_who_holds_a_lease_writes(self, records: Records, job: Job) -> None:
        saved = records.save(job, Right(records.take("one", LONG)))

        assert saved is not None
        assert records.get(job.id) == saved

    def test_whose_lease_has_ended_writes_nothing(self, records: Records, job: Job) -> None:
        assert records.save(job, Right(records.take("one", OVER))) is None
        assert records.get(job.id) == job

    def test_who_holds_an_older_number_writes_nothing(self, records: Records, job: Job) -> None:
        older = records.take("one", LONG)
        records.take("one", LONG)

        assert records.save(job, Right(older)) is None
        assert records.get(job.id) == job

    def test_a_job_is_taken_over_only_when_the_other_is_gone_for_long(
        self, records: Records, job: Job
    ) -> None:
        mine = records.take("one", LONG)
        records.take("two", LONG)
        assert records.save(job, Right(mine, over="two")) is None
        records.take("two", OVER)
        assert records.save(job, Right(mine, over="two", since=2 * LONG)) is None

        assert records.save(job, Right(mine, over="two", since=LONG / 2)) is not None

    def test_a_server_nobody_knows_is_gone(self, records: Records, job: Job) -> None:
        mine = records.take("one", LONG)

        assert records.save(job, Right(mine, over="nobody", since=LONG)) is not None

    def test_of_servers_that_want_one_job_one_gets_it(self, records: Records, job: Job) -> None:
        rights = [Right(records.take(f"server-{number}", LONG)) for number in range(4)]
        together = threading.Barrier(4)

        def want(right: Right) -> bool:
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

    def test_a_check_sees_every_job_that_was_added_before(self, records: Records, job: Job) -> None:
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
