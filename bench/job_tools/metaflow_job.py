"""Metaflow: its Runner, with a flow whose first step is the script."""

import sys

from driver import serve
from metaflow import Runner

runner = Runner(f"{sys.argv[1]}/flow.py", show_output=False)


def submit() -> None:
    assert runner.run().status == "successful"


serve(submit)
