"""The environment of a script.

It consists of a clean base, the variables that its service defines, its secrets, and the variables
of Danlu.
"""

import math
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

import danlu
from danlu import messages
from danlu.agent.script import temporary_dirs
from danlu.job import gpus
from danlu.job.plan import Place, Task, written_by
from danlu.settings import Endpoint, Settings, endpoint_of
from danlu.taskdir.processes import MARK, mark

_FEWEST_BETWEEN_OPERATIONS = 2  # one thread alone waits for ever if an operation blocks it


def thread_pools(place: Place, cores: int) -> Mapping[str, str]:
    """Return the variables that size the thread pools; none for a task that has all cores.

    TensorFlow's sessions and servers obey them unless a ConfigProto sets other sizes. NumPy's BLAS
    and PyTorch obey the variable of OpenMP.
    """
    share = _share(place, cores)
    if share >= cores:
        return {}
    return {
        "OMP_NUM_THREADS": str(share),
        "TF_NUM_INTRAOP_THREADS": str(share),
        "TF_NUM_INTEROP_THREADS": str(max(share, _FEWEST_BETWEEN_OPERATIONS)),
    }


def _share(place: Place, cores: int) -> int:
    """Return the number of cores that a task may use.

    These are the requested cores, or an equal share for each neighbour. One CPU counts as no
    request, because a job that requests none holds one.
    """
    if place.cpus > 1:
        return min(math.ceil(place.cpus), cores)
    return max(1, cores // _tasks_on_node(place))


def _tasks_on_node(place: Place) -> int:
    """Return how many tasks of the job compute on this machine.

    Parameter servers are not counted, because they hardly compute.
    """
    here = [
        address
        for role, addresses in place.peers.items()
        for address in addresses
        if role != "ps" and address.rpartition(":")[0] == place.host
    ]
    return max(1, len(here))


# Every service has a store of its own; one set of AWS_* variables can name only one of them.
_SCHEME_OF_DIALECT = {
    "kdl": "ks3",
    "ti": "cos",
    "modelarts": "obs",
    "dls": "obs",
    "modelmaker": "obs",
}
_SCHEMES = ("s3", "obs", "ks3", "cos")
_REGION = "us-east-1"  # accepted by services without regions
# A job that sets one of these brings its own store. Configured stores would conflict with it.
_CLAIMS = frozenset(
    (
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"),
        *("AWS_ENDPOINT_URL", "AWS_CONFIG_FILE", "S3_ENDPOINT"),
    )
)
_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
AWS_CONFIG, S3CMD_CONFIG = "aws-config", "s3cfg"


def store_settings_variables(settings: Settings) -> dict[str, str]:
    """Return the store settings as variables that ``danlu.settings`` reads in the child."""
    found = {"DANLU_STORE": os.path.realpath(settings.store)}
    for scheme, endpoint in settings.stores.items():
        for item in fields(Endpoint):
            if value := str(getattr(endpoint, item.name)):
                found[f"DANLU_{scheme.upper()}_{item.name.upper()}"] = value
    return found


def store_variables(
    settings: Settings, task: Task, box: str, given: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables that tools for the service's store read.

    There are none for the embedded store. ``given`` are the variables of the job. A job that brings
    its own keys gets none of the configured ones.
    """
    endpoint = _main_endpoint(settings, task.dialect)
    if endpoint is None or not _CLAIMS.isdisjoint(given):
        return {}
    region = endpoint.region or _REGION
    variables = {
        "S3_ENDPOINT": endpoint.endpoint,
        "S3_REGION": region,
        "S3_USE_HTTPS": "0" if _is_plain_http(endpoint) else "1",
        "S3_VERIFY_SSL": "1",
        "AWS_ENDPOINT_URL": endpoint.endpoint,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_CONFIG_FILE": f"{box}/{AWS_CONFIG}",
        "S3CMD_CONFIG": f"{box}/{S3CMD_CONFIG}",
        # botocore from 1.36 on sends check sums that stores other than Amazon's may refuse.
        "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
        "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
        **({"AWS_CA_BUNDLE": endpoint.ca_bundle} if endpoint.ca_bundle else {}),
        **_keys(endpoint, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    }
    if obs := endpoint_of("obs", settings.stores):
        names = ("OBS_ACCESS_KEY_ID", "OBS_SECRET_ACCESS_KEY", "OBS_SECURITY_TOKEN")
        variables |= {"OBS_ENDPOINT": obs.endpoint, **_keys(obs, *names)}
    return variables


def correct_store_variables(
    settings: Settings, task: Task, env: Mapping[str, str]
) -> dict[str, str]:
    """Return corrected values of variables that a service presets for its own store."""
    endpoint = _main_endpoint(settings, task.dialect)
    wrong = env.get("S3_USE_HTTPS") == "1" and endpoint is not None and _is_plain_http(endpoint)
    return {"S3_USE_HTTPS": "0"} if wrong else {}


def write_store_files(settings: Settings, task: Task, box: Path) -> None:
    """Write the store settings that boto3 and s3cmd read only from files.

    The files hold no keys.
    """
    endpoint = _main_endpoint(settings, task.dialect)
    if endpoint is None:
        return
    scheme, _, host = endpoint.endpoint.partition("://")
    path = endpoint.addressing == "path"
    (box / AWS_CONFIG).write_text(
        f"[default]\ns3 =\n  addressing_style = {endpoint.addressing}\n", encoding="utf-8"
    )
    (box / S3CMD_CONFIG).write_text(
        "[default]\n"
        "access_key = $AWS_ACCESS_KEY_ID\n"
        "secret_key = $AWS_SECRET_ACCESS_KEY\n"
        "access_token = $AWS_SESSION_TOKEN\n"
        f"host_base = {host}\n"
        f"host_bucket = {host if path else f'%(bucket)s.{host}'}\n"
        f"bucket_location = {endpoint.region or _REGION}\n"
        f"use_https = {scheme == 'https'}\n"
        f"ca_certs_file = {endpoint.ca_bundle}\n"
        "signature_v2 = False\n",
        encoding="utf-8",
    )


def store_secrets(settings: Settings, own: Mapping[str, str]) -> Iterator[str]:
    """Yield every value of this machine that no log may show.

    These are the keys of stores, and the passwords in URLs in the variables ``own``, such as those
    of proxies and package indexes.
    """
    for endpoint in settings.stores.values():
        yield from (endpoint.access_key, endpoint.secret_key, endpoint.token)
    for value in own.values():
        for password in _PASSWORD.findall(value):
            from urllib.parse import unquote

            yield from (password, unquote(password))


def make_embedded(settings: Settings) -> str:
    """Return the folder of the embedded buckets. Create it if it is missing."""
    folder = Path(os.path.realpath(settings.store), "buckets")
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def _main_endpoint(settings: Settings, dialect: str) -> Endpoint | None:
    """Return the endpoint of the service's own scheme, else any configured endpoint."""
    schemes = (_SCHEME_OF_DIALECT.get(dialect, ""), *_SCHEMES)
    found = (endpoint_of(scheme, settings.stores) for scheme in schemes)
    return next((endpoint for endpoint in found if endpoint), None)


def _is_plain_http(endpoint: Endpoint) -> bool:
    return endpoint.endpoint.startswith("http://")


def _keys(endpoint: Endpoint, access: str, secret: str, token: str) -> dict[str, str]:
    values = {
        access: str(endpoint.access_key),
        secret: str(endpoint.secret_key),
        token: str(endpoint.token),
    }
    return {name: value for name, value in values.items() if value}


# Kept from this machine: user, locale, network, GPU driver, certificates, CPU kernels.
_KEPT = frozenset(
    (
        *("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
        *("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"),
        "TF_ENABLE_ONEDNN_OPTS",  # which kernels TensorFlow computes with on this CPU
        "DANLU_TFFS",  # library with which TensorFlow opens object stores, if not at the default
    )
)
_KEPT_BEGINNINGS = ("LC_", "NVIDIA_")
# Folder of the code that every Python process of a task runs first.
STARTUP = Path(danlu.__file__).parents[1] / "danlu_runtime" / "startup"
NO_PROXY = "no_grpc_proxy"  # gRPC reads no_proxy only if this is not set
PACKAGES = "packages"  # in the exchange directory: what the script or a user command installs
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def child_environment(
    task: Task,
    box: str,
    secrets: Mapping[str, str],
    own: Mapping[str, str],
    settings: Settings,
    installed: str = "",
) -> dict[str, str]:
    """Return the environment of a process of the task.

    ``own`` is the environment of the agent, ``installed`` the folder of the task's packages.
    """
    theirs = {**task.command.env, **secrets}
    kept = kept_variables(own)
    if temporary_dirs.temporary_folders(task, settings) or not os.path.isdir(
        kept.get("TMPDIR", "")
    ):
        kept.pop("TMPDIR", None)  # the task has its own /tmp, or the machine's folder is gone
    packages = [*filter(None, [installed]), f"{box}/{PACKAGES}"]
    given = task.command.env.get("PYTHONPATH", "")
    own_cards = ",".join(task.place.gpus)
    programs = [os.path.dirname(sys.executable), *(f"{folder}/bin" for folder in packages)]
    return {
        **kept,
        # Listed first, so that "python eval.py" in a script runs in the same environment.
        "PATH": ":".join([*programs, own.get("PATH") or _PATH]),
        # Otherwise pip would change the runtime itself, for every job on this machine.
        "PIP_TARGET": f"{box}/{PACKAGES}",
        "TERM": "dumb",
        "PYTHONUNBUFFERED": "1",
        **_past_proxies(task.place, own),
        **thread_pools(task.place, len(os.sched_getaffinity(0))),
        **store_variables(settings, task, box, theirs),
        **theirs,
        **correct_store_variables(settings, task, theirs),
        **store_settings_variables(settings),
        "PYTHONPATH": ":".join(filter(None, [str(STARTUP), given])),
        gpus.OWN: own_cards,
        gpus.NAME: gpus.within(own_cards, theirs.get(gpus.NAME, own_cards)),
        "DANLU_PACKAGES": "\n".join(packages),  # a folder's name may hold any other separator
        MARK: mark(task.job_id, task.attempt, task.name),
        "DANLU_JOB_ID": task.job_id,
        "DANLU_JOB_STARTED": f"{task.job_started or time.time():.3f}",
        "DANLU_OUTPUTS": "\n".join(_outputs(task)),
        "DANLU_JOB_NAME": task.job_name,
        "DANLU_ATTEMPT": str(task.attempt),
        "DANLU_BOX": box,
        messages.VARIABLE: messages.language(),
        **({"DANLU_SCRATCH": task.command.scratch} if task.command.scratch else {}),
    }


def _outputs(task: Task) -> list[str]:
    """Return the object store URIs to which the job may write, by itself or through the agent."""
    uris = dict.fromkeys(written_by(task.command))
    return [uri for uri in uris if not uri.startswith("file:")]


def _past_proxies(place: Place, own: Mapping[str, str]) -> Mapping[str, str]:
    """Return variables with which gRPC bypasses the machine's proxy to reach the task's peers.

    The proxy is for downloads. MoXing manual, pitfall 2-3-1: ``CreateSession still waiting`` for
    ever.
    """
    if not place.peers:
        return {}
    kept = (own.get(NO_PROXY) or own.get("no_proxy") or own.get("NO_PROXY") or "").split(",")
    peers = [each.rpartition(":")[0] for addresses in place.peers.values() for each in addresses]
    names = filter(None, (name.strip() for name in [*kept, *peers]))
    return {NO_PROXY: ",".join(dict.fromkeys(names))}


def kept_variables(own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a task inherits from this machine."""
    return {name: value for name, value in own.items() if _is_kept(name)}


def _is_kept(name: str) -> bool:
    return name.upper() in _KEPT or name.startswith(_KEPT_BEGINNINGS)
