"""Cards for what a script's own parser refused: argparse, and the flags of absl and TensorFlow.

Both end the process with a line on stderr, so this is the one place where lines of the log are
read: for what these two parsers print, and for nothing else.
"""

import re

from danlu.job.status import Failure
from danlu.service.card_case import Case, Values, listed

# What the services add by themselves, besides inputs and outputs.
_SERVICE = frozenset(
    (
        *("data_url", "train_url", "num_gpus"),
        *("job_name", "task_index", "ps_hosts", "worker_hosts"),
        *("init_method", "rank", "world_size"),
    )
)
_CHANNELS = {"data_url": "--data-url", "train_url": "--train-url"}
_ARGPARSE = re.compile(r"\S.*: error: (?P<said>.+)")
_ABSL = re.compile(r"FATAL (?P<line>Flags parsing error: (?P<said>.+))")
_REQUIRED = re.compile(r"the following arguments are required: (.+)")
_VALUE = re.compile(r"argument (?P<names>\S+): (?P<fault>invalid .+|expected .+)")
_UNKNOWN_FLAG = re.compile(r"Unknown command line flag '([^']+)'.*")
_FLAG_REQUIRED = re.compile(r"flag --(\w+)=None: Flag --\w+ must have a value other than None\.?")
_FLAG_VALUE = re.compile(r"flag --(?P<name>[^=\s]+)=(?P<value>.*?): (?P<fault>.+)")


def usage_of(failure: Failure) -> str:
    """Return the line with which a parser of arguments ended the script, else ""."""
    pattern = _printed(failure)
    for line in reversed(failure.last_lines):
        if match := pattern and pattern.fullmatch(line):
            return match["line"] if pattern is _ABSL else line
    return ""


def _printed(failure: Failure) -> re.Pattern[str] | None:
    if failure.exception not in ("", "SystemExit"):
        return None
    return {2: _ARGPARSE, 1: _ABSL}.get(failure.exit_code or 0)


def _argparse(case: Case) -> str:
    match = _ARGPARSE.fullmatch(usage_of(case.failure))
    return match["said"] if match else ""


def _flags(case: Case) -> str:
    """Return what absl said, by an exception or by its last words."""
    if case.raised in ("UnrecognizedFlagError", "IllegalFlagValueError"):
        return " ".join(case.failure.message.split())
    match = _ABSL.fullmatch("FATAL " + usage_of(case.failure))
    return match["said"] if match else ""


def _refused(case: Case) -> tuple[list[str], list[str]] | None:
    """Return the names of what argparse refused in the plan: the service's, then the user's."""
    before, found, said = _argparse(case).partition("unrecognized arguments: ")
    if before or not found:
        return None
    given = (arg for arg in case.args if arg.startswith("-") and f" {arg} " in f" {said} ")
    refused = [arg.partition("=")[0] for arg in given]
    ours = [arg for arg in refused if _is_ours(case, arg)]
    return (ours, [arg for arg in refused if arg not in ours]) if refused else None


def _is_ours(case: Case, arg: str) -> bool:
    name = arg.lstrip("-")
    spec = case.job.spec
    if name in spec.inputs or name in spec.outputs:
        return True
    # Kingsoft's service adds nothing: every word is of the job's own ``job_args``.
    return name in _SERVICE and name not in dict(spec.params) and spec.dialect != "kdl"


def argument_ours(case: Case) -> Values | None:
    refused = _refused(case)
    return {"arguments": listed(refused[0])} if refused and not refused[1] else None


def argument_yours(case: Case) -> Values | None:
    refused = _refused(case)
    if not refused or refused[0] or case.job.spec.dialect == "ti":
        return None
    return {"arguments": listed(refused[1])}


def argument_hyperparameter(case: Case) -> Values | None:
    refused = _refused(case)
    if not refused or refused[0] or case.job.spec.dialect != "ti":
        return None
    return {"arguments": listed(refused[1])}


def argument_both(case: Case) -> Values | None:
    refused = _refused(case)
    if not refused or not all(refused):
        return None
    return {"ours": listed(refused[0]), "yours": listed(refused[1])}


def argument_missing(case: Case) -> Values | None:
    names = _required(case)
    if not names:
        return None
    return {
        "names": listed(names),
        "parameters": " ".join(f"-p {name}=…" for name in names[:6]),
        "name": case.job.name,
    }


def channel_missing(case: Case) -> Values | None:
    channels = [name for name in _required(case) if name in _CHANNELS]
    if not channels or case.job.spec.dialect not in ("modelarts", "dls"):
        return None
    options = " ".join(f"{_CHANNELS[name]} obs://…" for name in channels)
    return {"names": listed(channels), "options": options}


def _required(case: Case) -> list[str]:
    said = _REQUIRED.fullmatch(_argparse(case))
    if said:
        # "-d/--data_url, --steps": of several spellings the long one.
        return [word.split("/")[-1].lstrip("-") for word in said[1].split(", ")]
    flag = _FLAG_REQUIRED.fullmatch(_flags(case))
    return [flag[1]] if flag else []


def argument_value(case: Case) -> Values | None:
    said = _VALUE.fullmatch(_argparse(case))
    if said:
        name = said["names"].split("/")[-1].lstrip("-")
        return {"argument": name, "fault": said["fault"], "name": case.job.name}
    flag = _FLAG_VALUE.fullmatch(_flags(case))
    if not flag or _FLAG_REQUIRED.fullmatch(_flags(case)):
        return None
    return {"argument": flag["name"], "fault": flag["fault"], "name": case.job.name}


def flag_ours(case: Case) -> Values | None:
    flag = _unknown_flag(case)
    return {"flag": flag} if flag and _is_ours(case, flag) else None


def flag_yours(case: Case) -> Values | None:
    flag = _unknown_flag(case)
    return {"flag": flag} if flag and not _is_ours(case, flag) else None


def _unknown_flag(case: Case) -> str:
    match = _UNKNOWN_FLAG.fullmatch(_flags(case))
    given = {arg.lstrip("-").partition("=")[0] for arg in case.args}
    return match[1] if match and match[1] in given else ""
