"""torchx: a command with its local scheduler."""

import sys

from driver import serve
from torchx.runner import get_runner

folder = sys.argv[1]
command = [f"{sys.prefix}/bin/python", f"{folder}/first.py"]
runner = get_runner("bench")


def submit() -> None:
    handle = runner.run_component(
        "utils.sh", command, scheduler="local_cwd", cfg={"log_dir": f"{folder}/torchx"}
    )
    runner.wait(handle, wait_interval=0.02)


serve(submit)
