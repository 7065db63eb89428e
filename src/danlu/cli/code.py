"""The code of a job: finding it by path, selecting the file to start, and uploading it."""

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from danlu.errors import Refused
from danlu.messages import get_message
from danlu.usercode.code_snapshot import CodeSnapshot, ReadBudget, decode

if TYPE_CHECKING:
    from danlu.cli.session import Session
    from danlu.client.bundle import Bundle


PREFERRED = ("train.py", "main.py")
ARCHIVES = (".tar.gz", ".tgz", ".zip")
_SETUP = ("README.md", "README.rst", "pyproject.toml", "requirements.txt", "setup.cfg", "setup.py")


class Code(NamedTuple):
    """The code of a job.

    ``folder`` is None for an archive and for code that is already in a store. ``boot_file`` is
    the file or the dotted module to start. ``package`` is set if the user named a package instead
    of its parent folder; it is the name of that package in ``folder``.
    """

    path: str
    boot_file: str
    folder: Path | None = None
    package: str = ""
    packed: bool = False
    files: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """The original location of the code: a URI, or the path of an archive."""
        return self.path if self.folder is None else self.folder.absolute().as_uri()


def is_uri(text: str) -> bool:
    return "://" in text


def place(path: str) -> Code:
    """Return the code at ``path``, without the file to start.

    Raises:
        Refused: ``path`` does not exist.
    """
    where = Path(path).expanduser()
    if is_uri(path):
        return Code(path, "")
    if where.is_file():
        packed = path.endswith(ARCHIVES)
        return Code(path, "", None if packed else where.parent, packed=packed)
    if not where.is_dir():
        raise Refused(get_message("code.not_there", path=repr(path)))
    return Code(path, "", where)


def locate(path: str, boot_file: str) -> Code:
    """Return the code at ``path`` with the file to start.

    Raises:
        Refused: ``path`` does not exist, or the file to start is missing or ambiguous.
    """
    return with_file(place(path), boot_file)


def with_file(code: Code, given: str, option: str = "--boot-file") -> Code:
    """Return the code with the file to start, ``given`` or the only candidate.

    Raises:
        Refused: the file is missing, or there are several candidates.
    """
    if code.folder is None:
        if not given:
            raise Refused(get_message("code.uri_needs_boot_file", path=code.path, option=option))
        return code._replace(boot_file=given)
    where = Path(code.path).expanduser()
    if where.is_file():
        if given and Path(given).name != where.name:
            raise Refused(
                get_message(
                    "code.two_boot_files", path=code.path, boot_file=repr(given), option=option
                )
            )
        return code._replace(boot_file=where.name)
    name = _inside(where, given, option) if given else _guess(where, option)
    return code._replace(boot_file=name)


def with_module(code: Code, given: str, found: Collection[str]) -> Code:
    """Return the code with the module to run; ``found`` are the known files of the code.

    Raises:
        Refused: there is no module, or several candidates.
    """
    where = Path(code.path).expanduser()
    if code.folder is not None and where.is_file():
        return code._replace(boot_file=given or where.stem)
    tasks = sorted(name for name in found if name.count("/") == 1 and name.endswith("/task.py"))
    if not given and len(tasks) == 1:
        given = tasks[0].removesuffix(".py").replace("/", ".")
    if not given and not tasks and "task.py" in found:
        given = f"{where.absolute().name}.task"  # the package itself
    if not given:
        hint = get_message("code.modules", names=", ".join(t[:-3].replace("/", ".") for t in tasks))
        raise Refused(get_message("code.no_module", path=code.path), hint=hint if tasks else "")
    first, _, rest = given.partition(".")
    whole = where.absolute()
    if code.folder is None or (whole / first).exists() or (whole / f"{first}.py").exists():
        return code._replace(boot_file=given)
    if whole.name == first and _is_module(whole, rest):
        return code._replace(boot_file=given, folder=whole.parent, package=first)
    return code._replace(boot_file=given)  # the server checks the name


def _is_module(folder: Path, dotted: str) -> bool:
    inside = folder.joinpath(*dotted.split(".")) if dotted else folder / "__main__"
    return inside.with_name(f"{inside.name}.py").is_file() or inside.is_dir()


def _inside(folder: Path, boot_file: str, option: str) -> str:
    """Return the boot file relative to the code directory.

    ``boot_file`` is relative to the code directory or to the current directory.
    """
    if (folder / boot_file).is_file():
        return str(PurePosixPath(boot_file))
    if Path(boot_file).is_file():
        try:
            return Path(boot_file).resolve().relative_to(folder.resolve()).as_posix()
        except ValueError:
            pass
    hint = _choices(_candidates(folder), option)
    raise Refused(
        get_message("code.no_boot_file", name=repr(boot_file), folder=str(folder)), hint=hint
    )


def _guess(folder: Path, option: str) -> str:
    found = _candidates(folder)
    if len(found) == 1:
        return found[0]
    usual = [name for name in PREFERRED if name in found]
    if len(usual) == 1:
        return usual[0]
    if not found:
        sentence = get_message("code.no_python", folder=str(folder))
        raise Refused(sentence, hint=get_message("code.name_one", option=option))
    sentence = get_message("code.which", folder=str(folder), count=len(found))
    raise Refused(sentence, hint=_choices(found, option))


def _candidates(folder: Path) -> list[str]:
    names = (entry.name for entry in folder.iterdir() if entry.suffix == ".py")
    return sorted(name for name in names if name != "setup.py")


def guessed(code: Code) -> str:
    """Return the file that is started by default; empty if there is none."""
    try:
        return with_file(code, "").boot_file
    except Refused:
        return ""


def _choices(names: list[str], option: str) -> str:
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    if names:
        return get_message("code.choices", names=shown, option=option)
    return get_message("code.name_one", option=option)


def send(session: "Session", code: Code, data: Sequence[Path] = ()) -> tuple[str, Code]:
    """Pack and upload ``code``; return its URI and an updated copy of ``code``.

    The copy lists the packed files (for a single script) and those left out. Folders of ``data``
    inside a code directory are not packed.
    """
    path = Path(code.path).expanduser()
    if code.packed:
        with open(path, "rb") as ready:
            return session.client.upload_code(ready), code
    if code.folder is None:
        return code.path, code
    from danlu.client import bundle

    selected = _selected(session, code, data)
    with bundle.packed(selected) as archive:
        uri = session.client.upload_code(archive)
    files = tuple(map(str, selected.files)) if path.is_file() else ()
    return uri, code._replace(files=files, left_out=tuple(map(str, selected.left_out)))


def digest(session: "Session", code: Code, data: Sequence[Path] = ()) -> str:
    """Return the SHA-256 of the archive that :func:`send` would upload, without sending it."""
    import hashlib

    from danlu.client import bundle

    if code.packed:
        with open(Path(code.path).expanduser(), "rb") as ready:
            return hashlib.file_digest(ready, "sha256").hexdigest()
    with bundle.packed(_selected(session, code, data)) as archive:
        found = hashlib.sha256()
        while block := archive.read(1 << 20):
            found.update(block)
        return found.hexdigest()


def _selected(session: "Session", code: Code, data: Sequence[Path]) -> "Bundle":
    from danlu.client import bundle

    selected = bundle.select(Path(code.path).expanduser(), session.settings, data)
    if code.package and code.folder is not None:
        return _with_setup(selected, code.folder, code.package)
    return selected


def _with_setup(selected: "Bundle", folder: Path, package: str) -> "Bundle":
    """Return the bundle of a package inside its parent folder, with the setup files there."""
    inside = (PurePosixPath(package, name) for name in selected.files)
    beside = (PurePosixPath(name) for name in _SETUP if (folder / name).is_file())
    return selected._replace(root=folder, files=(*beside, *inside))


_EACH, _TOTAL = 1 << 20, 16 << 20  # bytes that are read of one file, and of all files
_UNPACKED, _MEMBERS = 1 << 30, 200_000  # limits of an archive; those of the server are settings
_FOLDERS = 200  # limits the walk if the script is in a home directory
_PASSED = ("node_modules", "site-packages", "__pycache__", "venv")


def read_code(code: Code) -> CodeSnapshot:
    """Return the names and texts of the code; empty if it is remote or cannot be read."""
    path = Path(code.path).expanduser()
    if code.packed:
        return _archive(path, ReadBudget(_EACH, _TOTAL, depth=3))
    if code.folder is None:
        return CodeSnapshot()
    if path.is_file():
        names = frozenset({path.name})
        return CodeSnapshot(names, {path.name: read_text(path) or ""}, around=False)
    return read_folder(code.folder, ReadBudget(_EACH, _TOTAL, depth=2))


def read_folder(folder: Path, budget: ReadBudget) -> CodeSnapshot:
    """Return the Python files of a local folder, as far as the budget allows."""
    texts = {}
    for at, folders, files in islice(os.walk(folder), _FOLDERS):
        folders[:] = sorted(n for n in folders if not n.startswith(".") and n not in _PASSED)
        if len(Path(at).relative_to(folder).parts) + 1 == budget.depth:
            folders.clear()
        for file in sorted(files):
            path = Path(at, file)
            name = path.relative_to(folder).as_posix()
            with suppress(OSError):
                if budget.takes(name, path.stat().st_size):
                    texts[name] = read_text(path) or ""
    return CodeSnapshot(frozenset(texts), texts)


def read_text(path: Path, limit: int = _EACH) -> str | None:
    """Return the first ``limit`` bytes of a file as text; None if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def _archive(path: Path, budget: ReadBudget) -> CodeSnapshot:
    """Read an archive with the checks of the server, so that a malicious one does no harm."""
    from danlu.storage.archive import ArchiveLimits, check

    try:
        with path.open("rb") as file:
            found = check(file, ArchiveLimits(_UNPACKED, _MEMBERS), budget.takes)
    except (OSError, Refused):
        return CodeSnapshot()  # the server reports the error after the upload
    seen = CodeSnapshot(found.names, decode(found.kept))
    start = f"{seen.top}/" if seen.top else ""
    return CodeSnapshot(
        frozenset(name.removeprefix(start) for name in seen.names),
        {name.removeprefix(start): text for name, text in seen.texts.items() if text},
    )
