"""The data channels and the output path of ``fit``, converted to URIs for the server."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from danlu.client.bundle import Bundle, packed
from danlu.errors import Unsupported
from danlu.job.spec import unquoted
from danlu.messages import get_message
from danlu.settings import MiB
from ti.arguments import got
from ti.data_source import CosInput, FileInput
from ti.exceptions import InvalidArguments
from ti.session import Session

ONLY = "training"  # the name of a single unnamed channel
_SCHEMES = ("cos", "s3", "obs", "ks3")


def named(inputs: Any) -> dict[str, str]:
    """Return a URI or a path for each channel.

    Raises:
        InvalidArguments: a value is neither; lists all of them by channel.
    """
    if inputs is None:
        return {}
    given = inputs if isinstance(inputs, Mapping) else {ONLY: inputs}
    faults = [
        (_field(inputs, name), got(sentence, value))
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
        return get_message("ti.input_name")
    if not isinstance(value, str | os.PathLike | CosInput | FileInput) or not _text(value):
        return get_message("ti.input_uri")
    scheme, there, _ = _text(value).partition("://")
    if there and scheme.lower() not in (*_SCHEMES, "file", "danlu", "dataset"):
        schemes = ", ".join(f"{each}://" for each in (*_SCHEMES, "file"))
        return get_message("ti.schemes", schemes=schemes)
    path = local_path(_text(value))
    if path is not None and not path.exists():
        return get_message("ti.input_missing")
    return ""


def _text(value: Any) -> str:
    if isinstance(value, CosInput):
        return value.cos_data
    return value.file_uri if isinstance(value, FileInput) else os.fspath(value)


def local_path(text: str) -> Path | None:
    """Return the local path that ``text`` refers to; None for a URI in a store."""
    scheme, there, rest = text.partition("://")
    if not there:
        return Path(text).expanduser()
    if scheme.lower() != "file":
        return None
    return Path(unquote("/" + rest.partition("/")[2]))


def reached(session: Session, channels: Mapping[str, str]) -> dict[str, str]:
    """Return a URI that the server can read for each channel.

    This machine's own server reads local files directly. To a remote server they are uploaded.

    Raises:
        InvalidArguments: there is nothing to upload, or more than the limit.
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
        raise InvalidArguments([(f"inputs.{name}", get_message("ti.empty_folder", path=str(path)))])
    size = sum((bundle.root / file).stat().st_size for file in bundle.files)
    limit = session.settings.code_limit
    if size > limit or len(bundle.files) > session.settings.code_files:
        values = {
            "path": str(path),
            "files": len(bundle.files),
            "size": size / MiB,
            "most_files": session.settings.code_files,
            "most": limit / MiB,
        }
        sentence = get_message("ti.too_much_to_send", **values)
        raise InvalidArguments([(f"inputs.{name}", sentence)])
    with packed(bundle) as archive:
        return session.client.upload_code(archive)


def _contents(path: Path) -> tuple[Path, tuple[PurePosixPath, ...]]:
    """Return a folder and all its files; unlike for code, no files are ignored."""
    if path.is_file():
        return path.parent, (PurePosixPath(path.name),)
    return path, tuple(_walk(path))


def _walk(root: Path) -> Iterator[PurePosixPath]:
    for folder, folders, files in os.walk(root, followlinks=True):
        here = Path(folder)
        # A link to a parent folder would be followed endlessly.
        real = here.resolve()
        folders[:] = sorted(f for f in folders if not real.is_relative_to((here / f).resolve()))
        for file in sorted(files):
            if (here / file).is_file():  # not a socket or a dangling link
                yield PurePosixPath((here / file).relative_to(root).as_posix())


def output_uri(session: Session, given: "str | os.PathLike[str] | None") -> str:
    """Return the URI of the outputs; empty for the default bucket.

    Raises:
        InvalidArguments: it is a local folder, but the server is remote.
        Unsupported: it is a network file system of the service.
    """
    if given is None:
        return ""
    if not isinstance(given, str | os.PathLike):
        raise Unsupported.from_key("ti.no_output", given=given)
    text = os.fspath(given)
    path = local_path(text)
    if path is None:
        return text
    if session.elsewhere:
        sentence = get_message("ti.output_here", text=text, elsewhere=session.elsewhere)
        raise InvalidArguments([("output_path", sentence)])
    return unquoted(path.absolute().as_uri(), text)
