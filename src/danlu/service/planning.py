"""From a job and its places to the tasks that will run: plain data, shown by a dry run."""

from collections.abc import Sequence
from dataclasses import replace

from danlu import dialects
from danlu.job.job import Job
from danlu.job.plan import Command, Limits, Place, Role, Task
from danlu.job.spec import JobSpec
from danlu.settings import Settings


def roles_of(job: Job) -> Sequence[Role]:
    return dialects.get(job.spec.dialect).roles(job.spec)


def tasks_of(job: Job, places: Sequence[Place], settings: Settings) -> tuple[Task, ...]:
    """Return one task for each place, in the words of the job's dialect."""
    dialect = dialects.get(job.spec.dialect)
    return tuple(
        Task(
            job_id=job.id,
            job_name=job.name,
            dialect=job.spec.dialect,
            attempt=job.attempt,
            place=place,
            command=with_runtime(dialect.command(job.spec, place), job.spec),
            limits=limits_of(job, settings),
            secrets=job.spec.secrets,
        )
        for place in (replace(place, job_id=job.id) for place in places)
    )


def with_runtime(command: Command, spec: JobSpec) -> Command:
    """Tell the runtime beside the script what it sees as TensorFlow, and which files are its own.

    A command without code of the user's is one of ours: a preset model. It has no files to mend.
    """
    code = next((item.to for item in command.fetch if item.what == "code"), "")
    inputs = "\n".join(item.to for item in command.fetch if item.what != "code")
    asked = {
        "DANLU_TENSORFLOW": spec.tensorflow,
        "DANLU_MAX_STEPS": str(spec.max_steps or ""),
    }
    told = {
        **({"DANLU_CODE": code, "DANLU_INPUTS": inputs} if code else {}),
        **{name: value for name, value in asked.items() if value},
    }
    return replace(command, env={**command.env, **told})


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
    )
