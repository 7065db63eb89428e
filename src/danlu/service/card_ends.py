"""Cards for ends without an exception: memory, disk, signals, silence between nodes, no output."""

import re

from danlu.job.state import JobState, Reason
from danlu.service.card_case import Case, Values, listed

_PROXY = re.compile(r"https?_proxy|all_proxy", re.IGNORECASE)
_WAITED = ("TimeoutError", "DeadlineExceededError", "UnavailableError", "ConnectTimeout", "timeout")
_CRASHES = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT")


def _failed(case: Case, reason: Reason) -> bool:
    return case.job.state is JobState.FAILED and case.job.reason is reason


def out_of_memory(case: Case) -> Values | None:
    if not _failed(case, Reason.OUT_OF_MEMORY):
        return None
    sizes = [name for name, _ in case.job.spec.params if "batch" in name.lower()]
    return {"name": case.job.name, "parameter": sizes[0] if sizes else "batch_size"}


def disk_full_cache(case: Case) -> Values | None:
    if not _failed(case, Reason.DISK_FULL):
        return None
    path = case.failure.disk_full
    return {} if path.startswith("/cache") or case.mentions("/cache") else None


def disk_full(case: Case) -> Values | None:
    return {} if _failed(case, Reason.DISK_FULL) else None


def too_many_processes(case: Case) -> Values | None:
    if not _failed(case, Reason.TOO_MANY_PROCESSES):
        return None
    return {"limit": case.failure.process_limit}


def exit_137(case: Case) -> Values | None:
    return {} if _failed(case, Reason.KILLED) and case.failure.exit_code == 137 else None


def exit_139(case: Case) -> Values | None:
    if not _failed(case, Reason.SCRIPT_FAILED) or case.failure.exception:
        return None
    return {"signal": case.failure.signal} if case.failure.signal in _CRASHES else None


def exit_247(case: Case) -> Values | None:
    """A negative code of a process the script started, handed on: -9 is 247 to a shell."""
    names = {247: "SIGKILL", 245: "SIGSEGV", 250: "SIGABRT", 241: "SIGTERM"}
    code = case.failure.exit_code or 0
    if not _failed(case, Reason.SCRIPT_FAILED) or code not in names:
        return None
    return {"exit_code": code, "signal": names[code], "number": 256 - code}


def proxy_between_nodes(case: Case) -> Values | None:
    """TensorFlow goes through a proxy even to its own peers (manual, pitfall 2-3-1)."""
    if not _waited(case) or case.task is None:
        return None
    proxies = [name for name in case.task.command.env if _PROXY.fullmatch(name)]
    return {"variables": listed(sorted(proxies))} if proxies else None


def nodes_wait(case: Case) -> Values | None:
    return {} if _waited(case) else None


def _waited(case: Case) -> bool:
    """Tell whether one of several tasks waited for its peers until it gave up, or had to."""
    several = len(case.job.plan) > 1
    return several and (_failed(case, Reason.TIMED_OUT) or case.raised in _WAITED)


def nothing_written(case: Case) -> Values | None:
    """No failure: a note on a job that did well and left nothing."""
    if case.job.state is not JobState.SUCCEEDED or not case.job.tasks:
        return None
    outcomes = [task.outcome for task in case.job.tasks if task.outcome]
    outputs = list(case.outputs()) or _outputs(case)
    if not outputs or any(outcome.pushed_files for outcome in outcomes):
        return None
    name, path, _ = outputs[0]
    return {"name": name, "path": path}


def _outputs(case: Case) -> list[tuple[str, str, str]]:
    """Where the first task is a parameter server, another one has the outputs."""
    pushed = (item for task in case.job.plan for item in task.command.push)
    return [(item.what, item.path, item.uri) for item in pushed]
