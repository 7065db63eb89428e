"""A home whose executor was another before."""

from dataclasses import replace

import pytest

from danlu.errors import Conflict
from danlu.job.state import JobState
from danlu.records.memory import MemoryRecords
from danlu.service.switching import take_over
from danlu.service.tenure import server_name
from danlu.testing.jobs import a_job


def test_jobs_of_other_servers_are_in_nobodys_way(tmp_path):
    records = MemoryRecords()
    records.add(replace(a_job("theirs", state=JobState.RUNNING), runs_on="another"))
    take_over(tmp_path, "ray", records)
    ours = replace(a_job("ours", state=JobState.RUNNING), runs_on=server_name(tmp_path))
    records.add(ours)

    with pytest.raises(Conflict, match="jobs run that 'ray' started: ours"):
        take_over(tmp_path, "local", records)
