"""The environment of a script: a clean base, what its service promises, its secrets, our marks."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import danlu
from danlu.agent import stores
from danlu.agent.share import thread_pools
from danlu.job import cards
from danlu.job.plan import Place, Task
from danlu.settings import Settings
from danlu.taskdir.process import MARK, mark

# Of this machine: who and where one is, the network, the GPU driver, certificates.
_KEPT = frozenset(
    (
        *("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
        *("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"),
        "DANLU_TFFS",  # the library TensorFlow opens object stores with, where it lies elsewhere
    )
)
_KEPT_BEGINNINGS = ("LC_", "NVIDIA_")
# Holds what every Python of a task runs first.
STARTUP = Path(danlu.__file__).parents[1] / "danlu_runtime" / "startup"
NO_PROXY = "no_grpc_proxy"  # gRPC reads no_proxy only where this is not there
PACKAGES = "packages"  # in the box: what a script, or a command of the user's, installs with pip
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def child_environment(
    task: Task,
    box: str,
    secrets: Mapping[str, str],
    own: Mapping[str, str],
    settings: Settings,
    installed: str = "",
) -> dict[str, str]:
    """Return it; ``own`` is the environment of the agent, ``installed`` the task's packages."""
    theirs = {**task.command.env, **secrets}
    kept = {name: value for name, value in own.items() if _is_kept(name)}
    packages = [*filter(None, [installed]), f"{box}/{PACKAGES}"]
    given = task.command.env.get("PYTHONPATH", "")
    own_cards = ",".join(task.place.gpus)
    programs = [os.path.dirname(sys.executable), *(f"{folder}/bin" for folder in packages)]
    return {
        **kept,
        # First: what a script starts by name ("python eval.py") is of the same environment.
        "PATH": ":".join([*programs, own.get("PATH") or _PATH]),
        # pip would change the runtime itself otherwise, for every job of this machine.
        "PIP_TARGET": f"{box}/{PACKAGES}",
        "TERM": "dumb",
        "PYTHONUNBUFFERED": "1",
        **_past_proxies(task.place, own),
        **thread_pools(task.place, len(os.sched_getaffinity(0))),
        **stores.preset(settings, task, box, theirs),
        **theirs,
        **stores.corrected(settings, task, theirs),
        **stores.our_variables(settings),
        "PYTHONPATH": ":".join(filter(None, [str(STARTUP), given])),
        cards.OWN: own_cards,
        cards.NAME: cards.within(own_cards, theirs.get(cards.NAME, own_cards)),
        "DANLU_PACKAGES": "\n".join(packages),  # a folder may have any other mark in its name
        MARK: mark(task.job_id, task.attempt, task.name),
        "DANLU_JOB_ID": task.job_id,
        "DANLU_JOB_NAME": task.job_name,
        "DANLU_ATTEMPT": str(task.attempt),
        "DANLU_BOX": box,
    }


def _past_proxies(place: Place, own: Mapping[str, str]) -> Mapping[str, str]:
    """Let gRPC reach the peers of a task: the machine's proxy is for downloads.

    MoXing manual, pitfall 2-3-1: ``CreateSession still waiting`` for ever.
    """
    if not place.peers:
        return {}
    kept = (own.get(NO_PROXY) or own.get("no_proxy") or own.get("NO_PROXY") or "").split(",")
    peers = [each.rpartition(":")[0] for addresses in place.peers.values() for each in addresses]
    names = filter(None, (name.strip() for name in [*kept, *peers]))
    return {NO_PROXY: ",".join(dict.fromkeys(names))}


def _is_kept(name: str) -> bool:
    return name.upper() in _KEPT or name.startswith(_KEPT_BEGINNINGS)
