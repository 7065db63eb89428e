"""Planning: the tasks of a job as plain data, made from its spec and its allocations.

A dry run prints them.
"""

import contextlib
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from danlu import dialects
from danlu.errors import DanluError
from danlu.job.job import Job
from danlu.job.plan import Command, Limits, Place, Role, Task
from danlu.job.spec import ARGUMENTS, URL, JobSpec
from danlu.settings import Settings
from danlu.storage.locate import parse

_FLAG = re.compile(r"--?([A-Za-z][\w-]*)=")
_ONLY_FLAG = re.compile(r"--?([A-Za-z][\w-]*)$")


def roles_of(job: Job) -> Sequence[Role]:
    return dialects.get(job.spec.dialect).roles(job.spec)


Allocate = Callable[[str, Sequence[Role]], Sequence[Place]]  # place or reserve of an executor


def tasks(job: Job, allocate: Allocate, settings: Settings) -> tuple[Task, ...]:
    """Return one task for each allocation, with the command of the job's dialect.

    Raises the errors of ``allocate``.
    """
    dialect = dialects.get(job.spec.dialect)
    places = [replace(place, job_id=job.id) for place in allocate(job.id, roles_of(job))]
    commands = [dialect.command(job.spec, place) for place in places]
    writes = written_by_script(job.spec, commands)
    return tuple(
        Task(
            job_id=job.id,
            job_name=job.name,
            dialect=job.spec.dialect,
            attempt=job.attempt,
            place=place,
            command=replace(
                with_runtime(command, job.spec),
                writes=writes,
                may_write=() if job.spec.scratch else named_by_arguments(command),
                scratch=job.spec.scratch,
            ),
            limits=limits_of(job, settings),
            secrets=job.spec.secrets,
            job_started=job.first_started or 0,
        )
        for place, command in zip(places, commands, strict=True)
    )


def written_by_script(spec: JobSpec, commands: Sequence[Command]) -> tuple[str, ...]:
    """Return the outputs that no task syncs, because the script receives their URLs."""
    mirrored = [item.uri for command in commands for item in command.push]
    return tuple(
        uri
        for uri in dict.fromkeys(spec.outputs.values())
        if not any(other == uri or other.startswith(f"{uri.rstrip('/')}/") for other in mirrored)
    )


def with_runtime(command: Command, spec: JobSpec) -> Command:
    """Return the command with the variables that configure the runtime in the script's process.

    They hold the TensorFlow version, the step limit, and the folders of code and inputs. A command
    without user code is a preset model of Danlu; it has no files to repair.
    """
    code = next((item.to for item in command.fetch if item.what == "code"), "")
    inputs = "\n".join(item.to for item in command.fetch if item.what != "code")
    asked = {
        "DANLU_TENSORFLOW": spec.tensorflow,
        "DANLU_MAX_STEPS": str(spec.max_steps or ""),
    }
    variables = {
        **({"DANLU_CODE": code, "DANLU_INPUTS": inputs} if code else {}),
        **{name: value for name, value in asked.items() if value},
    }
    return replace(command, env={**command.env, **variables})


def named_by_arguments(command: Command) -> tuple[str, ...]:
    """Return the folders of object stores that occur in the arguments of a script.

    KDL has no other outputs. Whether the script reads or writes there is not known. For a URL that
    looks like a file, its folder is returned.
    """
    found = []
    for uri in dict.fromkeys(uri for word in command.args for uri in URL.findall(word)):
        with contextlib.suppress(DanluError):  # text that only looks like a URL
            found.append(folder_of(uri))
    return tuple(dict.fromkeys(found))


def folder_of(uri: str) -> str:
    """Return the folder of a URL that looks like a file, and any other URL as it is."""
    is_file = not uri.endswith("/") and PurePosixPath(parse(uri).key).suffix
    return uri.rpartition("/")[0] if is_file else uri


def named_in(spec: JobSpec) -> list[tuple[str, str]]:
    """Return the URLs among the arguments of a job, each with its flag; "" if it has none.

    Whether the script reads or writes there is not known.
    """
    words = shlex.split(spec.options.get(ARGUMENTS, ""))
    words += [f"--{name}={value}" for name, value in spec.params]
    found, flag = [], ""
    for word in words:
        with_value, alone = _FLAG.match(word), _ONLY_FLAG.match(word)
        found += [(with_value[1] if with_value else flag, uri) for uri in URL.findall(word)]
        flag = alone[1] if alone else ""
    return list(dict.fromkeys(found))


def limits_of(job: Job, settings: Settings) -> Limits:
    return Limits(
        heartbeat=settings.heartbeat,
        lost_after=settings.agent_timeout,
        grace=settings.grace,
        mirror=settings.mirror_interval,
        run=job.spec.timeout,
        log=settings.log_limit,
        still=settings.hang_timeout,
        processes=settings.process_limit,
        store=settings.store_timeout,
        keep=settings.keep_days * 24 * 3600,
    )
