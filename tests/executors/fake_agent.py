"""A small agent that keeps to the protocol and to nothing else: no fetch, no push, no sandbox.

What the executor promises is tried against it as well as against the real one, so that a fault
is known to be the executor's or the agent's.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from danlu.agent.reports.curves import Collection
from danlu.agent.reports.progress import find_event_files
from danlu.job.state import Reason
from danlu.job.status import Heartbeat, Outcome, Progress
from danlu.taskdir.exchange_dir import ExchangeDir
from danlu.taskdir.files import TaskDir, newest_attempt
from danlu.taskdir.job_files import LocalJobFiles
from danlu.taskdir.processes import MARK, mark, task_pids, this_agent


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("home", "job", "task"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--attempt", type=int)
    args = parser.parse_args()
    store = LocalJobFiles(Path(args.home, "jobs", args.job))
    files = TaskDir(store, args.attempt, args.task)
    plan = files.plan()
    if plan is None or newest_attempt(store) > args.attempt or not files.claim(this_agent()):
        return
    tag = mark(args.job, args.attempt, args.task)
    box = ExchangeDir(Path(args.home, "box"))
    box.folder.mkdir(exist_ok=True)
    environment = {**os.environ, **files.take_secrets(), MARK: tag, "DANLU_BOX": str(box.folder)}
    outputs = {item: Path(item.path) for item in plan.command.push}
    for folder in outputs.values():
        folder.mkdir(parents=True)
    signal.signal(signal.SIGTERM, lambda *_: None)
    child = subprocess.Popen(
        [sys.executable, "-u", plan.command.run, *plan.command.args],
        cwd=plan.command.cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    writer = files.log_writer(plan.limits.log)

    def pump() -> None:
        while data := os.read(child.stdout.fileno(), 65536):
            writer.write(data)

    pumping = threading.Thread(target=pump, daemon=True)
    pumping.start()
    beats, asked = 0, None
    while child.poll() is None:
        beats += 1
        files.write_heartbeat(Heartbeat(beats, time.time()))
        if newest_attempt(store) > args.attempt:
            end(tag, signal.SIGKILL)
            return
        grace = files.stop_requested()
        if grace is not None and asked is None:
            asked = time.monotonic()
            end(tag, signal.SIGTERM)
        if asked is not None and time.monotonic() > asked + grace:
            end(tag, signal.SIGKILL)
        time.sleep(0.02)
    end(tag, signal.SIGKILL)
    pumping.join(10)  # for the last of the output
    files.write_translation(box.translation())
    files.write_progress(Progress(steps=box.steps()))
    collection = Collection()
    collection.read(find_event_files(outputs))
    files.write_curves(collection.curves())
    reason = Reason.STOPPED_BY_USER if asked is not None else Reason.SCRIPT_FAILED
    if child.returncode == 0:
        reason = Reason.DONE
    files.write_outcome(Outcome(args.attempt, reason, child.returncode, time.time()))


def end(tag: str, number: signal.Signals) -> None:
    for pid in task_pids(tag):
        os.kill(pid, number)


if __name__ == "__main__":
    main()
