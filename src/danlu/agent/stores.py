"""What a script is told of the object stores: by our own names, and by those its service presets.

Keys go into the environment of the task's processes and nowhere else; the two files made here, for
tools that want one, hold addresses and the names of variables.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from danlu.job.plan import Task
from danlu.settings import Endpoint, Settings, endpoint_of

# Every service has a store of its own; one set of AWS_* variables can name only one of them.
_OWN = {"kdl": "ks3", "ti": "cos", "modelarts": "obs", "dls": "obs", "modelmaker": "obs"}
_ANY = ("s3", "obs", "ks3", "cos")
_REGION = "us-east-1"  # what services that know no regions take
# With one of these a job brings a store of its own: ours beside it would make a muddle of both.
_CLAIMS = frozenset(
    (
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"),
        *("AWS_ENDPOINT_URL", "AWS_CONFIG_FILE", "S3_ENDPOINT"),
    )
)
_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
AWS_CONFIG, S3CMD_CONFIG = "aws-config", "s3cfg"


def our_variables(settings: Settings) -> dict[str, str]:
    """Return the settings of stores as variables: what ``danlu.settings`` reads in the child."""
    found = {"DANLU_STORE": os.path.realpath(settings.store)}
    for scheme, endpoint in settings.stores.items():
        for item in fields(Endpoint):
            if value := str(getattr(endpoint, item.name)):
                found[f"DANLU_{scheme.upper()}_{item.name.upper()}"] = value
    return found


def preset(settings: Settings, task: Task, box: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return what tools of the service's store look for; nothing for the embedded store.

    ``given`` are the variables of the job itself: one that brings its own keys gets none of ours.
    """
    endpoint = _main(settings, task.dialect)
    if endpoint is None or not _CLAIMS.isdisjoint(given):
        return {}
    region = endpoint.region or _REGION
    variables = {
        "S3_ENDPOINT": endpoint.endpoint,
        "S3_REGION": region,
        "S3_USE_HTTPS": "0" if _plain(endpoint) else "1",
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


def corrected(settings: Settings, task: Task, env: Mapping[str, str]) -> dict[str, str]:
    """Return what a service presets for its own store and that is not so for this one."""
    endpoint = _main(settings, task.dialect)
    wrong = env.get("S3_USE_HTTPS") == "1" and endpoint is not None and _plain(endpoint)
    return {"S3_USE_HTTPS": "0"} if wrong else {}


def write_files(settings: Settings, task: Task, box: Path) -> None:
    """Write what boto3 and s3cmd read of an address, and take no variable for; no keys."""
    endpoint = _main(settings, task.dialect)
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


def secrets(settings: Settings, own: Mapping[str, str]) -> Iterator[str]:
    """Yield every value of this machine that no log may show: keys of stores, and of the variables
    ``own`` the passwords in URLs, such as those of proxies and package indexes."""
    for endpoint in settings.stores.values():
        yield from (endpoint.access_key, endpoint.secret_key, endpoint.token)
    for value in own.values():
        for password in _PASSWORD.findall(value):
            from urllib.parse import unquote

            yield from (password, unquote(password))


def make_embedded(settings: Settings) -> str:
    """Return the folder of the embedded buckets, made where it is missing."""
    folder = Path(os.path.realpath(settings.store), "buckets")
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def _main(settings: Settings, dialect: str) -> Endpoint | None:
    """Return the endpoint of the service's own scheme, else any there is."""
    schemes = (_OWN.get(dialect, ""), *_ANY)
    found = (endpoint_of(scheme, settings.stores) for scheme in schemes)
    return next((endpoint for endpoint in found if endpoint), None)


def _plain(endpoint: Endpoint) -> bool:
    return endpoint.endpoint.startswith("http://")


def _keys(endpoint: Endpoint, access: str, secret: str, token: str) -> dict[str, str]:
    values = {
        access: str(endpoint.access_key),
        secret: str(endpoint.secret_key),
        token: str(endpoint.token),
    }
    return {name: value for name, value in values.items() if value}
