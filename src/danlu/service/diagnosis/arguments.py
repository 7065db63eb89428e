"""Hints for arguments that the script's parser rejects: argparse, absl, click and fire.

These parsers end the process with a line on stderr. This is the only module of the diagnosis that
reads lines of the log, and only for the messages of these parsers.
"""

import re

from danlu.dialects.options import option_of
from danlu.job.status import Failure
from danlu.service.diagnosis.hint_context import HintContext, Values, listed

# Arguments that the services add, besides inputs and outputs.
SERVICE_ARGUMENTS = frozenset(
    (
        *("data_url", "train_url", "num_gpus"),
        *("job_name", "task_index", "ps_hosts", "worker_hosts"),
        *("init_method", "rank", "world_size"),
    )
)
_CHANNELS = ("data_url", "train_url")
_ARGPARSE = re.compile(r"\S.*: error: (?P<text>.+)")
_ABSL = re.compile(r"FATAL (?P<line>Flags parsing error: (?P<text>.+))")
_CLICK = re.compile(
    r"(?P<line>Error: (?P<text>(?:No such option|Missing option|Invalid value for|Option '|"
    r"Missing argument|Got unexpected extra argument).+))"
)
_FIRE = re.compile(r"ERROR: (?P<line>Could not consume arg: .+)")
_NO_OPTION = re.compile(r"(?:No such option:? '?|Could not consume arg: )(--[^\s'=.]+).*")
_REQUIRED = re.compile(r"the following arguments are required: (.+)")
_VALUE = re.compile(r"argument (?P<names>\S+): (?P<fault>invalid .+|expected .+)")
_UNKNOWN_FLAG = re.compile(r"Unknown command line flag '([^']+)'.*")
_FLAG_REQUIRED = re.compile(r"flag --(\w+)=None: Flag --\w+ must have a value other than None\.?")
_FLAG_VALUE = re.compile(r"flag --(?P<name>[^=\s]+)=(?P<value>.*?): (?P<fault>.+)")


def usage_of(failure: Failure) -> str:
    """Return the line that an argument parser printed when it ended the script, else ""."""
    for line in reversed(failure.last_lines):
        for pattern in _printed(failure):
            if match := pattern.fullmatch(line):
                return match.groupdict().get("line", line)
    return ""


def _printed(failure: Failure) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of the parsers that end a script with its exit code."""
    if failure.exception not in ("", "SystemExit", "FireExit"):
        return ()
    return {2: (_ARGPARSE, _CLICK, _FIRE), 1: (_ABSL,)}.get(failure.exit_code or 0, ())


def _argparse(case: HintContext) -> str:
    match = _ARGPARSE.fullmatch(usage_of(case.failure))
    return match["text"] if match else ""


def _flags(case: HintContext) -> str:
    """Return the message of absl, from its exception or its last line on stderr."""
    if case.raised in ("UnrecognizedFlagError", "IllegalFlagValueError"):
        return " ".join(case.failure.message.split())
    match = _ABSL.fullmatch("FATAL " + usage_of(case.failure))
    return match["text"] if match else ""


def _refused(case: HintContext) -> tuple[list[str], list[str]] | None:
    """Return the arguments that argparse rejected: those of the service, then of the user.

    Returns None if argparse rejected no argument of the plan.
    """
    before, found, rest = _argparse(case).partition("unrecognized arguments: ")
    if before or not found:
        return None
    given = (arg for arg in case.args if arg.startswith("-") and f" {arg} " in f" {rest} ")
    refused = [arg.partition("=")[0] for arg in given]
    ours = [arg for arg in refused if _is_ours(case, arg)]
    return (ours, [arg for arg in refused if arg not in ours]) if refused else None


def _is_ours(case: HintContext, arg: str) -> bool:
    name = arg.lstrip("-")
    spec = case.job.spec
    if name in spec.inputs or name in spec.outputs:
        return True
    # Kingsoft's service (KDL) adds no arguments: all come from the job's ``job_args``.
    return name in SERVICE_ARGUMENTS and name not in dict(spec.params) and spec.dialect != "kdl"


def argument_ours(case: HintContext) -> Values | None:
    refused = _refused(case)
    return {"arguments": listed(refused[0])} if refused and not refused[1] else None


def argument_yours(case: HintContext) -> Values | None:
    refused = _refused(case)
    if not refused or refused[0] or case.job.spec.dialect == "ti":
        return None
    return {"arguments": listed(refused[1])}


def argument_hyperparameter(case: HintContext) -> Values | None:
    refused = _refused(case)
    if not refused or refused[0] or case.job.spec.dialect != "ti":
        return None
    return {"arguments": listed(refused[1])}


def argument_both(case: HintContext) -> Values | None:
    refused = _refused(case)
    if not refused or not all(refused):
        return None
    return {"ours": listed(refused[0]), "yours": listed(refused[1])}


def argument_missing(case: HintContext) -> Values | None:
    names = _required(case)
    if not names:
        return None
    return {
        "names": listed(names),
        "parameters": " ".join(f"-p {name}=…" for name in names[:6]),
        "name": case.job.name,
    }


def channel_missing(case: HintContext) -> Values | None:
    dialect = case.job.spec.dialect
    missing = [name for name in _required(case) if name in _CHANNELS]
    channels = [name for name in missing if option_of(dialect, name)]
    if not channels:
        return None
    options = " ".join(f"{option_of(dialect, name)} obs://…" for name in channels)
    return {"names": listed(channels), "options": options}


def _required(case: HintContext) -> list[str]:
    found = _REQUIRED.fullmatch(_argparse(case))
    if found:
        # "-d/--data_url, --steps": use the long spelling.
        return [word.split("/")[-1].lstrip("-") for word in found[1].split(", ")]
    flag = _FLAG_REQUIRED.fullmatch(_flags(case))
    return [flag[1]] if flag else []


def argument_value(case: HintContext) -> Values | None:
    found = _VALUE.fullmatch(_argparse(case))
    if found:
        name = found["names"].split("/")[-1].lstrip("-")
        return {"argument": name, "fault": found["fault"], "name": case.job.name}
    flag = _FLAG_VALUE.fullmatch(_flags(case))
    if not flag or _FLAG_REQUIRED.fullmatch(_flags(case)):
        return None
    return {"argument": flag["name"], "fault": flag["fault"], "name": case.job.name}


def flag_ours(case: HintContext) -> Values | None:
    flag = _unknown_flag(case)
    return {"flag": flag} if flag and _is_ours(case, flag) else None


def flag_yours(case: HintContext) -> Values | None:
    flag = _unknown_flag(case)
    return {"flag": flag} if flag and not _is_ours(case, flag) else None


def option_ours(case: HintContext) -> Values | None:
    option = _unknown_option(case)
    return {"option": option} if option and _is_ours(case, option) else None


def option_yours(case: HintContext) -> Values | None:
    option = _unknown_option(case)
    return {"option": option} if option and not _is_ours(case, option) else None


def _unknown_option(case: HintContext) -> str:
    """Return the option of the plan that click or fire does not know, else ""."""
    match = _NO_OPTION.fullmatch(usage_of(case.failure).removeprefix("Error: "))
    given = {arg.partition("=")[0] for arg in case.args}
    return match[1] if match and match[1] in given else ""


def _unknown_flag(case: HintContext) -> str:
    match = _UNKNOWN_FLAG.fullmatch(_flags(case))
    given = {arg.lstrip("-").partition("=")[0] for arg in case.args}
    return match[1] if match and match[1] in given else ""
