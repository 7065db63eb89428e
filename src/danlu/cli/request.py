"""From what a person wrote to the request a server understands."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from danlu.cli.code import is_uri
from danlu.errors import Refused
from danlu.words import say

CHANNELS = ("data_url", "train_url", "checkpoint_url", "data", "output_path")
NAMED_CHANNELS = ("inputs", "outputs", "channels")  # or one, without a name


def place_uri(text: str, base: Path | None = None) -> str:
    """Return a URI: text with a scheme as it is, a local path as an absolute ``file://`` one."""
    if not text or is_uri(text):
        return text
    # Not resolve(): a link the person named is the name they will look for.
    path = Path(os.path.abspath(Path(base or Path.cwd(), Path(text).expanduser())))
    return path.as_uri()


def with_places(request: Mapping[str, Any], base: Path | None = None) -> dict[str, Any]:
    """Return the request with every local path of its channels made a URI."""
    placed = dict(request)
    for name in (*CHANNELS, *NAMED_CHANNELS):
        if isinstance(placed.get(name), str):
            placed[name] = place_uri(placed[name], base)
    for name in NAMED_CHANNELS:
        if isinstance(placed.get(name), Mapping):
            placed[name] = {
                key: place_uri(value, base) if isinstance(value, str) else value
                for key, value in placed[name].items()
            }
    return placed


def local_places(request: Mapping[str, Any]) -> list[Path]:
    """Return the folders and files of this machine that a request's channels name."""
    fields = [request.get(field) for field in (*CHANNELS, *NAMED_CHANNELS)]
    named = [uri for field in fields if isinstance(field, Mapping) for uri in field.values()]
    uris = [*fields, *named]
    local = (uri for uri in uris if isinstance(uri, str) and uri.startswith("file://"))
    return [Path(unquote(uri.removeprefix("file://"))) for uri in local]


def secrets(names: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """Return the values of secrets from our own environment: never from the command line.

    Raises:
        Refused: some are not set there.
    """
    missing = [name for name in names if name not in env]
    if missing:
        listed = ", ".join(missing)
        raise Refused(say("secret.missing", names=listed), hint=say("secret.hint", name=missing[0]))
    return {name: env[name] for name in names}


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that were given; the server knows the defaults of the others."""
    return {name: value for name, value in fields.items() if value not in (None, "", {}, [], ())}
