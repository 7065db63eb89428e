"""A home whose executor was another before."""

from dataclasses import replace

import pytest

from danlu.errors import Conflict
from danlu.job.state import JobState
from danlu.records.memory import MemoryRecords
from danlu.service.switching import take_over
from danlu.service.tenure import server_name
from danlu.testing.records import a_job


def test_an_executor_does_not_take_over_the_jobs_of_another(tmp_path):
    records = MemoryRecords()
    job = records.add(a_job("mnist", state=JobState.RUNNING))

    with pytest.raises(Conflict, match="jobs run that 'local' started: mnist"):
        take_over(tmp_path, "ray", records)
    records.save(replace(job, state=JobState.SUCCEEDED))
    take_over(tmp_path, "ray", records)

    assert (tmp_path / "executor").read_text() == "ray\n"


def test_jobs_of_other_servers_are_in_nobodys_way(tmp_path):
    records = MemoryRecords()
    records.add(replace(a_job("theirs", state=JobState.RUNNING), runs_on="another"))
    take_over(tmp_path, "ray", records)
    ours = replace(a_job("ours", state=JobState.RUNNING), runs_on=server_name(tmp_path))
    records.add(ours)

    with pytest.raises(Conflict, match="jobs run that 'ray' started: ours"):
        take_over(tmp_path, "local", records)
