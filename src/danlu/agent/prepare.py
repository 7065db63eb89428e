"""Makes the place of a script ready: code, data, earlier outputs, folders, files."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from danlu.agent.ending import Ending
from danlu.agent.fetch import Fetcher
from danlu.agent.pump import JobLog
from danlu.agent.report import Reporter
from danlu.agent.restore import Restorer, begins_with_earlier
from danlu.agent.stage import code_folder
from danlu.agent.workspace import HOSTS, Workspace
from danlu.job.plan import Push
from danlu.settings import Settings
from danlu.taskdir.box import Launch

if TYPE_CHECKING:
    from danlu.storage.locate import Stores
    from danlu.storage.manifest import Manifest


def prepare(
    settings: Settings,
    stores: "Stores",
    workspace: Workspace,
    ending: Ending,
    report: Reporter,
    job_log: JobLog,
) -> "dict[str, Manifest]":
    """Lay out everything the script needs; return what is known of its outputs.

    Raises:
        Interrupted, UserError, StorageError, OSError
    """
    task = workspace.task
    Fetcher(settings, workspace, report, job_log).bring(ending)
    report.begin("prepare")
    known: dict[str, Manifest] = {}
    if begins_with_earlier(task, task.attempt):
        known = Restorer(stores, workspace, report, job_log).restore(ending)
    for path in (*task.command.folders, *(item.path for item in task.command.push)):
        workspace.host(path).mkdir(parents=True, exist_ok=True)
    for path, text in task.command.files.items():
        target = workspace.host(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return known


def write_launch(workspace: Workspace, job_log: JobLog) -> None:
    command, place = workspace.task.command, workspace.task.place
    mapped: dict[str, str] = {}
    if not place.isolation.private_paths:
        mapped = {fixed: str(workspace.root) + fixed for fixed in command.private}
        job_log.say(
            f"this machine gives a task no paths of its own: {', '.join(mapped)} are mapped for "
            f"Python; C++ code and other programs find them below {workspace.root}"
        )
    workspace.box.write_launch(
        Launch(
            run=command.run,
            args=command.args,
            module=command.module,
            sys_path=command.sys_path,
            code=code_folder(workspace),
            mapped=mapped,
            functions=command.functions,
            report=command.report,
        )
    )


def write_hosts(workspace: Workspace, job_log: JobLog) -> None:
    """Let the script find the machines of its job by the names its service gave them."""
    hosts = workspace.task.command.hosts
    if not hosts:
        return
    said = ", ".join(f"{name} is {address}" for name, address in hosts.items())
    if not workspace.task.place.isolation.private_paths or not os.path.isfile(HOSTS):
        job_log.say(
            f"this machine gives a task no {HOSTS} of its own, so names lead nowhere: {said}"
        )
        return
    lines = "".join(f"{address} {name}\n" for name, address in hosts.items())
    # Before the machine's own: the first line that has a name wins.
    workspace.hosts.write_bytes(lines.encode() + Path(HOSTS).read_bytes())


def output_folders(workspace: Workspace) -> dict[Push, Path]:
    return {item: workspace.below_root(item.path) for item in workspace.task.command.push}
