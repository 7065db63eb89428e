"""A home whose executor was another before."""

from dataclasses import replace

import pytest

from contracts.records import a_job
from danlu.errors import Conflict
from danlu.job.state import JobState
from danlu.service.servers.home import check_executor
from danlu.service.servers.lease import server_name


def test_jobs_of_other_servers_are_ignored(tmp_path, new_records):
    records = new_records()
    records.add(replace(a_job("theirs", state=JobState.RUNNING), runs_on="another"))
    check_executor(tmp_path, "ray", records)
    ours = replace(a_job("ours", state=JobState.RUNNING), runs_on=server_name(tmp_path))
    records.add(ours)

    with pytest.raises(Conflict, match="jobs that 'ray' started are running: ours"):
        check_executor(tmp_path, "local", records)
