"""Which server has the files of a job, where several share the records."""

import socket
from urllib.parse import urlsplit

from danlu.errors import Elsewhere
from danlu.job.job import Job
from danlu.job.server import Server
from danlu.service.sharing import Sharing


class Whereabouts:
    def __init__(self, sharing: Sharing) -> None:
        self._sharing = sharing

    def is_here(self, job: Job) -> bool:
        return job.runs_on in ("", self._sharing.name) or self._sharing.goes_on(job)

    def must_be_here(self, job: Job, *, unless_gone: bool = False) -> None:
        """``unless_gone``: what nobody can be asked about any more is no reason to refuse.

        Raises:
            Elsewhere: the files of a job are with another server.
        """
        if self.is_here(job):
            return
        other = self._sharing.server(job.runs_on)
        living = other is not None and other.living
        if unless_gone and not living:
            return
        url = _reachable(other) if other is not None and living else ""
        where = (
            f"Ask there: DANLU_SERVER={url}"
            if url
            else "It listens on no address of its own: danlu up"
        )
        raise Elsewhere(
            f"Job {job.name!r} runs on server {job.runs_on}, which has its files.",
            hint=where if living else "That server does not answer now; ask again when it is back.",
            server=job.runs_on,
            url=url,
        )


def _reachable(server: Server) -> str:
    """Return the URL of a server; "" where it would lead to this machine and not to that one."""
    host = urlsplit(server.url).hostname or ""
    only_there = host in ("localhost", "::1") or host.startswith("127.")
    return "" if only_there and server.host != socket.gethostname() else server.url
