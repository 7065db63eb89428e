"""Ray: a job on a cluster of this machine alone, which is up before anything is measured."""

import sys
import time

import ray
from driver import serve
from ray.job_submission import JobSubmissionClient

folder = sys.argv[1]
address = f"http://{ray.init('local', num_cpus=2, include_dashboard=True).dashboard_url}"
client = JobSubmissionClient(address)


def submit() -> None:
    name = client.submit_job(entrypoint=f"{sys.prefix}/bin/python {folder}/first.py")
    while not (status := client.get_job_status(name)).is_terminal():
        time.sleep(0.02)
    assert status == "SUCCEEDED", client.get_job_logs(name)


def wait_until_up() -> None:
    """Its agent for jobs comes some seconds after everything else."""
    until = time.monotonic() + 60
    while True:
        try:
            return submit()
        except RuntimeError:
            if time.monotonic() > until:
                raise
            time.sleep(1)


wait_until_up()
serve(submit, {"RAY_ADDRESS": address})
