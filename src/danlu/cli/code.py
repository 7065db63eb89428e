"""The code of a job: from a path on this machine to a URI the server knows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from danlu.errors import Refused
from danlu.words import say

if TYPE_CHECKING:
    from danlu.cli.session import Session

PREFERRED = ("train.py", "main.py")
ARCHIVES = (".tar.gz", ".tgz", ".zip")


@dataclass(frozen=True)
class Code:
    """``folder`` is None for code that is packed, or in a store already."""

    path: str
    boot_file: str
    folder: Path | None = None
    packed: bool = False
    files: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """The URI people know the code by."""
        return self.path if self.folder is None else self.folder.absolute().as_uri()


def is_uri(text: str) -> bool:
    return "://" in text


def locate(path: str, boot_file: str) -> Code:
    """Return what ``path`` names, and the file in it to start.

    Raises:
        Refused: it is not there, or the file to start cannot be told.
    """
    place = Path(path).expanduser()
    packed = not is_uri(path) and place.is_file() and path.endswith(ARCHIVES)
    if is_uri(path) or packed:
        if not boot_file:
            raise Refused(say("code.uri_needs_boot_file", path=path))
        return Code(path, boot_file, packed=packed)
    if place.is_file():
        if boot_file and Path(boot_file).name != place.name:
            raise Refused(say("code.two_boot_files", path=path, boot_file=repr(boot_file)))
        return Code(path, place.name, place.parent)
    if not place.is_dir():
        raise Refused(say("code.not_there", path=repr(path)))
    return Code(path, _inside(place, boot_file) if boot_file else _guess(place), place)


def _inside(folder: Path, boot_file: str) -> str:
    """A boot file is named from the code directory, or from where the person stands."""
    if (folder / boot_file).is_file():
        return str(PurePosixPath(boot_file))
    if Path(boot_file).is_file():
        try:
            return Path(boot_file).resolve().relative_to(folder.resolve()).as_posix()
        except ValueError:
            pass
    hint = _choices(_candidates(folder))
    raise Refused(say("code.no_boot_file", name=repr(boot_file), folder=str(folder)), hint=hint)


def _guess(folder: Path) -> str:
    found = _candidates(folder)
    if len(found) == 1:
        return found[0]
    usual = [name for name in PREFERRED if name in found]
    if len(usual) == 1:
        return usual[0]
    if not found:
        raise Refused(say("code.no_python", folder=str(folder)), hint=say("code.name_one"))
    raise Refused(say("code.which", folder=str(folder), count=len(found)), hint=_choices(found))


def _candidates(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.suffix == ".py")


def _choices(names: list[str]) -> str:
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    return say("code.choices", names=shown) if names else say("code.name_one")


def send(session: "Session", code: Code, data: Sequence[Path] = ()) -> tuple[str, Code]:
    """Pack and upload ``code``; return its URI, and the code with what was packed for a file.

    Folders of ``data`` inside a code directory stay where they are.
    """
    path = Path(code.path).expanduser()
    if code.packed:
        return session.client.upload_code(path), code
    if code.folder is None:
        return code.path, code
    from danlu.client import bundle

    selected = bundle.select(path, session.settings, data)
    archive, _ = bundle.pack(selected)
    try:
        uri = session.client.upload_code(archive)
    finally:
        archive.unlink(missing_ok=True)
    files = tuple(map(str, selected.files)) if path.is_file() else ()
    return uri, replace(code, files=files, left_out=tuple(map(str, selected.left_out)))
