"""submitit: its local executor, the script run inside the process it starts."""

import runpy
import sys

import submitit
from driver import serve

executor = submitit.LocalExecutor(f"{sys.argv[1]}/submitit")


def submit() -> None:
    executor.submit(runpy.run_path, f"{sys.argv[1]}/first.py").wait()


serve(submit)
