"""What ``fit`` is given as data, and how the server gets at it."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from danlu.client.bundle import Bundle, packed
from danlu.errors import Unsupported
from danlu.settings import MiB
from ti.data_source import CosInput, FileInput
from ti.exceptions import InvalidArguments
from ti.session import Session

ONLY = "training"  # the name of a channel that has none
_SCHEMES = ("cos", "s3", "obs", "ks3")


def named(inputs: Any) -> dict[str, str]:
    """Return a URI or a path for each channel.

    Raises:
        InvalidArguments: something that is neither, by its channel.
    """
    if inputs is None:
        return {}
    given = inputs if isinstance(inputs, Mapping) else {ONLY: inputs}
    faults = [
        (_field(inputs, name), f"{sentence}, got {value!r}.")
        for name, value in given.items()
        if (sentence := _fault(name, value))
    ]
    if faults:
        raise InvalidArguments(faults)
    return {name: _text(value) for name, value in given.items()}


def _field(inputs: Any, name: object) -> str:
    return f"inputs.{name}" if isinstance(inputs, Mapping) else "inputs"


def _fault(name: object, value: Any) -> str:
    if not isinstance(name, str) or not name:
        return "must have a name"
    if not isinstance(value, str | os.PathLike | CosInput | FileInput) or not _text(value):
        return "must be a URI such as 'cos://bucket/path', or a path of this machine"
    scheme, there, _ = _text(value).partition("://")
    if there and scheme.lower() not in (*_SCHEMES, "file", "danlu", "dataset"):
        return f"must begin with one of {', '.join(f'{s}://' for s in (*_SCHEMES, 'file'))}"
    path = local_path(_text(value))
    if path is not None and not path.exists():
        return "names a file or folder of this machine that is not there"
    return ""


def _text(value: Any) -> str:
    if isinstance(value, CosInput):
        return value.cos_data
    return value.file_uri if isinstance(value, FileInput) else os.fspath(value)


def local_path(text: str) -> Path | None:
    """Return the file or folder of this machine that is meant, None for one in a store."""
    scheme, there, rest = text.partition("://")
    if not there:
        return Path(text).expanduser()
    if scheme.lower() != "file":
        return None
    return Path(unquote("/" + rest.partition("/")[2]))


def reached(session: Session, channels: Mapping[str, str]) -> dict[str, str]:
    """Return a URI for each channel that the server can read.

    This machine's own server reads this machine's files; to one elsewhere they are sent.

    Raises:
        InvalidArguments: there is more than can be sent.
    """
    found = {}
    for name, text in channels.items():
        path = local_path(text)
        if path is None:
            found[name] = text
        elif session.elsewhere:
            found[name] = _sent(session, name, path)
        else:
            found[name] = path.absolute().as_uri()
    return found


def _sent(session: Session, name: str, path: Path) -> str:
    bundle = Bundle(*_contents(path))
    if not bundle.files:
        raise InvalidArguments([(f"inputs.{name}", f"there is no file in {str(path)!r}.")])
    size = sum((bundle.root / file).stat().st_size for file in bundle.files)
    limit = session.settings.code_limit
    if size > limit or len(bundle.files) > session.settings.code_files:
        sentence = (
            f"{str(path)!r} has {len(bundle.files):,} files of {size / MiB:,.1f} MiB; "
            f"{session.settings.code_files:,} of {limit / MiB:,.1f} MiB can be sent. Put them into "
            "a store that both reach, and give their URI."
        )
        raise InvalidArguments([(f"inputs.{name}", sentence)])
    with packed(bundle) as archive:
        return session.client.upload_code(archive)


def _contents(path: Path) -> tuple[Path, tuple[PurePosixPath, ...]]:
    """Return a folder and what is in it; data is never left out as code may be."""
    if path.is_file():
        return path.parent, (PurePosixPath(path.name),)
    return path, tuple(_walk(path))


def _walk(root: Path) -> Iterator[PurePosixPath]:
    for folder, folders, files in os.walk(root, followlinks=True):
        here = Path(folder)
        # A link to a folder above leads round for ever.
        real = here.resolve()
        folders[:] = sorted(f for f in folders if not real.is_relative_to((here / f).resolve()))
        for file in sorted(files):
            if (here / file).is_file():  # not a socket or a dangling link
                yield PurePosixPath((here / file).relative_to(root).as_posix())


def output_uri(session: Session, given: "str | os.PathLike[str] | None") -> str:
    """Return where outputs go; empty for the platform's own bucket.

    Raises:
        InvalidArguments: a folder of this machine, for a server elsewhere.
        Unsupported: a file system of the service's.
    """
    if given is None:
        return ""
    if not isinstance(given, str | os.PathLike):
        raise Unsupported(f"output_path: {given!r} is not there.")
    text = os.fspath(given)
    path = local_path(text)
    if path is None:
        return text
    if session.elsewhere:
        sentence = (
            f"{text!r} is on this machine, which the server {session.elsewhere} does not see; "
            "write a URI such as 'cos://bucket/out'."
        )
        raise InvalidArguments([("output_path", sentence)])
    return path.absolute().as_uri()
