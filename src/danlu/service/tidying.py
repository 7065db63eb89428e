"""What a server that was killed between two steps left undone, done by the next one."""

from danlu.executors.api import Executor
from danlu.job.state import JobState
from danlu.records.api import Records
from danlu.service.ending import Ending
from danlu.service.forsaken import Forsaken
from danlu.service.keys import SecretFiles
from danlu.service.sharing import Sharing


class Tidying:
    def __init__(
        self,
        records: Records,
        executor: Executor,
        secrets: SecretFiles,
        ending: Ending,
        forsaken: Forsaken,
        sharing: Sharing,
    ) -> None:
        self._records = records
        self._executor = executor
        self._secrets = secrets
        self._ending = ending
        self._forsaken = forsaken
        self._sharing = sharing

    def after_crash(self) -> None:
        """Give back what jobs hold that have ended, or wait for their next attempt."""
        shared = bool(self._sharing.name)
        living = {job.id: job for job in self._records.living()}
        held = set(self._executor.held())
        for job_id in {*held, *self._executor.scratch()} - living.keys():
            self._ending.after_crash(job_id, unknown_was_removed=shared)
        if not shared:  # else another server may be about to start it
            for job_id in held & living.keys():
                if living[job_id].state is JobState.QUEUED:
                    self._executor.release(job_id)
        self._secrets.drop_all_but(living)
        self._forsaken.find(living.values())
