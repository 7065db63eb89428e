"""The code of a training job: from a source directory of this machine to a URI of the server's."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from danlu.client import bundle
from ti.exceptions import InvalidArguments
from ti.session import Session


@dataclass(frozen=True)
class Code:
    """``origin`` is where it came from, for people."""

    uri: str
    entry_point: str
    origin: str


def send(
    session: Session,
    entry_point: str,
    source_dir: "str | os.PathLike[str] | None",
    data: Sequence[Path] = (),
) -> Code:
    """Pack the code and bring it to the server, which keeps equal code once.

    Without a source directory it is the script with the modules it imports and the small files
    beside it. Folders of ``data`` inside the source directory stay out of it.

    Raises:
        InvalidArguments: the entry point is not there.
        Refused: the code is too large, or a link in it leads outside.
    """
    if source_dir is not None and "://" in os.fspath(source_dir):
        return Code(os.fspath(source_dir), entry_point, os.fspath(source_dir))
    path, entry = _located(entry_point, source_dir)
    with bundle.packed(bundle.select(path, session.settings, data)) as archive:
        uri = session.client.upload_code(archive)
    folder = path.parent if path.is_file() else path
    return Code(uri, entry, folder.absolute().as_uri())


def _located(entry_point: str, source_dir: "str | os.PathLike[str] | None") -> tuple[Path, str]:
    """Return what to pack, a folder or a file, and the file to start in it."""
    if source_dir is None:
        script = Path(entry_point).expanduser()
        if not script.is_file():
            sentence = f"no file {entry_point!r} was found in directory {os.getcwd()!r}."
            raise InvalidArguments([("entry_point", sentence)])
        return script, script.name
    folder = Path(source_dir).expanduser()
    if not folder.is_dir():
        sentence = f"there is no directory {os.fspath(source_dir)!r}."
        raise InvalidArguments([("source_dir", sentence)])
    if not (folder / entry_point).is_file():
        sentence = f"no file {entry_point!r} was found in directory {os.fspath(source_dir)!r}."
        raise InvalidArguments([("entry_point", sentence)])
    return folder, str(PurePosixPath(entry_point))
