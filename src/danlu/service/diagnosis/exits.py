"""Hints for ends without an exception: memory, disk, signals, unreachable nodes, no output."""

import re
import time

from danlu.job.state import JobState, Reason
from danlu.service.diagnosis.hint_context import HintContext, Values, listed

_PROXY = re.compile(r"https?_proxy|all_proxy", re.IGNORECASE)
_WAITED = ("TimeoutError", "DeadlineExceededError", "UnavailableError", "ConnectTimeout", "timeout")
_CRASHES = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT")


def _failed(case: HintContext, reason: Reason) -> bool:
    return case.job.state is JobState.FAILED and case.job.reason is reason


def out_of_memory(case: HintContext) -> Values | None:
    if not _failed(case, Reason.OUT_OF_MEMORY):
        return None
    sizes = [name for name, _ in case.job.spec.params if "batch" in name.lower()]
    return {"name": case.job.name, "parameter": sizes[0] if sizes else "batch_size"}


def disk_full_shm(case: HintContext) -> Values | None:
    """Match a full /dev/shm, which is memory and not a disk."""
    full = _failed(case, Reason.DISK_FULL) and case.failure.disk_full.startswith("/dev/shm/")
    return {"name": case.job.name} if full else None


def disk_full_cache(case: HintContext) -> Values | None:
    if not _failed(case, Reason.DISK_FULL):
        return None
    path = case.failure.disk_full
    return {} if path.startswith("/cache") or case.mentions("/cache") else None


def disk_full(case: HintContext) -> Values | None:
    if not _failed(case, Reason.DISK_FULL):
        return None
    disk = case.failure.disk
    to_folders = any(uri.startswith("file:") for _, _, uri in case.outputs())
    if disk is None or not (to_folders and case.job.unstored):
        return {}
    return {"variant": "output", "mount": disk.mount, "name": case.job.name}


def too_many_processes(case: HintContext) -> Values | None:
    if not _failed(case, Reason.TOO_MANY_PROCESSES):
        return None
    return {"limit": case.failure.process_limit}


def exit_137(case: HintContext) -> Values | None:
    return {} if _failed(case, Reason.KILLED) and case.failure.exit_code == 137 else None


def exit_139(case: HintContext) -> Values | None:
    if not _failed(case, Reason.SCRIPT_FAILED) or case.failure.exception:
        return None
    return {"signal": case.failure.signal} if case.failure.signal in _CRASHES else None


def exit_247(case: HintContext) -> Values | None:
    """Match an exit code that the script took from a child killed by a signal.

    The return code -9 becomes the exit code 247.
    """
    names = {247: "SIGKILL", 245: "SIGSEGV", 250: "SIGABRT", 241: "SIGTERM"}
    code = case.failure.exit_code or 0
    if not _failed(case, Reason.SCRIPT_FAILED) or code not in names:
        return None
    return {"exit_code": code, "signal": names[code], "number": 256 - code}


def proxy_between_nodes(case: HintContext) -> Values | None:
    """Match a proxy setting; TensorFlow uses a proxy even for its peers (manual, pitfall 2-3-1)."""
    if not _waited(case) or case.task is None:
        return None
    proxies = [name for name in case.task.command.env if _PROXY.fullmatch(name)]
    return {"variables": listed(sorted(proxies))} if proxies else None


def nodes_wait(case: HintContext) -> Values | None:
    return {} if _waited(case) else None


def _waited(case: HintContext) -> bool:
    """Return True if a task of several waited for its peers until it failed or timed out."""
    several = len(case.job.plan) > 1
    return several and (_failed(case, Reason.TIMED_OUT) or case.raised in _WAITED)


def nothing_written(case: HintContext) -> Values | None:
    """Match a job that succeeded without writing any output."""
    if case.job.state is not JobState.SUCCEEDED or not case.job.tasks:
        return None
    outcomes = [task.outcome for task in case.job.tasks if task.outcome]
    outputs = list(case.outputs()) or _outputs(case)
    if not outputs or any(outcome.pushed_files for outcome in outcomes):
        return None
    name, path, _ = outputs[0]
    kept = [outcome.kept for outcome in outcomes if outcome.kept]
    if not kept:
        return {"name": name, "path": path}
    until = max(each.until for each in kept)
    count = sum(each.files for each in kept)
    return {
        "variant": "kept_one" if count == 1 else "kept",
        "name": name,
        "path": path,
        "job": case.job.name,
        "count": count,
        "until": time.strftime("%Y-%m-%d %H:%M", time.localtime(until)),
    }


def _outputs(case: HintContext) -> list[tuple[str, str, str]]:
    """Return the outputs of all tasks; the first task may be a parameter server without any."""
    pushed = (item for task in case.job.plan for item in task.command.push)
    return [(item.what, item.path, item.uri) for item in pushed]
