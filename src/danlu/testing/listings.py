"""What every record store must do where many jobs are asked for; used by ``RecordsContract``."""

from dataclasses import replace

from danlu.job.state import JobState, Reason
from danlu.records.api import Records
from danlu.testing.jobs import a_job


class ListingsContract:
    def test_the_living_come_by_priority_then_by_age(self, records: Records) -> None:
        oldest, urgent, newest = a_job("oldest"), a_job("urgent", priority=5), a_job("newest")
        for job in (newest, a_job("ended", state=JobState.SUCCEEDED), urgent, oldest):
            records.add(job)

        assert records.living() == (urgent, oldest, newest)

    def test_the_living_are_told_as_they_are_now(self, records: Records) -> None:
        one, two = records.add(a_job("one")), records.add(a_job("two"))
        assert records.living() == (one, two)

        changed = records.save(replace(one, attempt=2))
        records.save(two.moved(JobState.STOPPED, 3.0, Reason.STOPPED_BY_USER))
        three = records.add(a_job("three"))

        assert records.living() == (changed, three)

    def test_a_page_is_newest_first_and_goes_on_before_an_id(self, records: Records) -> None:
        made = [records.add(a_job(f"job-{index}")) for index in range(5)]

        first = records.page(limit=2)
        assert first == (made[4], made[3])
        assert records.page(limit=2, before=first[-1].id) == (made[2], made[1])
        assert records.page(limit=2, before=made[0].id) == ()

    def test_pages_do_not_shift_when_jobs_come_and_go(self, records: Records) -> None:
        made = [records.add(a_job(f"job-{index}")) for index in range(4)]
        first = records.page(limit=2)

        records.add(a_job("newcomer"))
        records.remove(first[-1].id)

        assert records.page(limit=2, before=first[-1].id) == (made[1], made[0])

    def test_a_page_is_chosen_by_state_and_part_of_the_name(self, records: Records) -> None:
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
