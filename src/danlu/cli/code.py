"""The code of a job: from a path on this machine to a URI the server knows."""

from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from danlu.errors import Refused
from danlu.words import say

if TYPE_CHECKING:
    from danlu.cli.session import Session
    from danlu.client.bundle import Bundle

PREFERRED = ("train.py", "main.py")
ARCHIVES = (".tar.gz", ".tgz", ".zip")
_SETUP = ("README.md", "README.rst", "pyproject.toml", "requirements.txt", "setup.cfg", "setup.py")


class Code(NamedTuple):
    """``folder`` is None for code that is packed, or in a store already.

    ``boot_file`` is the file to start, or a dotted module; ``package`` the one folder of
    ``folder`` that is meant, where a package was named and not the folder it lies in.
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
        """The URI people know the code by."""
        return self.path if self.folder is None else self.folder.absolute().as_uri()


def is_uri(text: str) -> bool:
    return "://" in text


def place(path: str) -> Code:
    """Return what ``path`` names; what in it is to be started is told later.

    Raises:
        Refused: it is not there.
    """
    where = Path(path).expanduser()
    if is_uri(path):
        return Code(path, "")
    if where.is_file():
        packed = path.endswith(ARCHIVES)
        return Code(path, "", None if packed else where.parent, packed=packed)
    if not where.is_dir():
        raise Refused(say("code.not_there", path=repr(path)))
    return Code(path, "", where)


def locate(path: str, boot_file: str) -> Code:
    """Return what ``path`` names, and the file in it to start.

    Raises:
        Refused: it is not there, or the file to start cannot be told.
    """
    return with_file(place(path), boot_file)


def with_file(code: Code, given: str, option: str = "--boot-file") -> Code:
    """Return the code with the file to start: the one given, or the only one it can be."""
    if code.folder is None:
        if not given:
            raise Refused(say("code.uri_needs_boot_file", path=code.path, option=option))
        return code._replace(boot_file=given)
    where = Path(code.path).expanduser()
    if where.is_file():
        if given and Path(given).name != where.name:
            raise Refused(
                say("code.two_boot_files", path=code.path, boot_file=repr(given), option=option)
            )
        return code._replace(boot_file=where.name)
    name = _inside(where, given, option) if given else _guess(where, option)
    return code._replace(boot_file=name)


def with_module(code: Code, given: str, found: Collection[str]) -> Code:
    """Return the code with the module to run; ``found`` are the files that can be seen of it."""
    where = Path(code.path).expanduser()
    if code.folder is not None and where.is_file():
        return code._replace(boot_file=given or where.stem)
    tasks = sorted(name for name in found if name.count("/") == 1 and name.endswith("/task.py"))
    if not given and len(tasks) == 1:
        given = tasks[0].removesuffix(".py").replace("/", ".")
    if not given:
        hint = say("code.modules", names=", ".join(t[:-3].replace("/", ".") for t in tasks))
        raise Refused(say("code.no_module", path=code.path), hint=hint if tasks else "")
    first, _, rest = given.partition(".")
    whole = where.absolute()
    if code.folder is None or (whole / first).exists() or (whole / f"{first}.py").exists():
        return code._replace(boot_file=given)
    if whole.name == first and _is_module(whole, rest):
        return code._replace(boot_file=given, folder=whole.parent, package=first)
    return code._replace(boot_file=given)  # the server knows what is there, and says so


def _is_module(folder: Path, dotted: str) -> bool:
    inside = folder.joinpath(*dotted.split(".")) if dotted else folder / "__main__"
    return inside.with_name(f"{inside.name}.py").is_file() or inside.is_dir()


def _inside(folder: Path, boot_file: str, option: str) -> str:
    """A boot file is named from the code directory, or from where the person stands."""
    if (folder / boot_file).is_file():
        return str(PurePosixPath(boot_file))
    if Path(boot_file).is_file():
        try:
            return Path(boot_file).resolve().relative_to(folder.resolve()).as_posix()
        except ValueError:
            pass
    hint = _choices(_candidates(folder), option)
    raise Refused(say("code.no_boot_file", name=repr(boot_file), folder=str(folder)), hint=hint)


def _guess(folder: Path, option: str) -> str:
    found = _candidates(folder)
    if len(found) == 1:
        return found[0]
    usual = [name for name in PREFERRED if name in found]
    if len(usual) == 1:
        return usual[0]
    if not found:
        sentence = say("code.no_python", folder=str(folder))
        raise Refused(sentence, hint=say("code.name_one", option=option))
    sentence = say("code.which", folder=str(folder), count=len(found))
    raise Refused(sentence, hint=_choices(found, option))


def _candidates(folder: Path) -> list[str]:
    names = (entry.name for entry in folder.iterdir() if entry.suffix == ".py")
    return sorted(name for name in names if name != "setup.py")


def guessed(code: Code) -> str:
    """Return the file that would be started if nobody says, or nothing."""
    try:
        return with_file(code, "").boot_file
    except Refused:
        return ""


def _choices(names: list[str], option: str) -> str:
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    if names:
        return say("code.choices", names=shown, option=option)
    return say("code.name_one", option=option)


def send(session: "Session", code: Code, data: Sequence[Path] = ()) -> tuple[str, Code]:
    """Pack and upload ``code``; return its URI, and the code with what was packed for a file.

    Folders of ``data`` inside a code directory stay where they are.
    """
    path = Path(code.path).expanduser()
    if code.packed:
        with open(path, "rb") as ready:
            return session.client.upload_code(ready), code
    if code.folder is None:
        return code.path, code
    from danlu.client import bundle

    selected = bundle.select(path, session.settings, data)
    if code.package:
        selected = _with_setup(selected, code.folder, code.package)
    with bundle.packed(selected) as archive:
        uri = session.client.upload_code(archive)
    files = tuple(map(str, selected.files)) if path.is_file() else ()
    return uri, code._replace(files=files, left_out=tuple(map(str, selected.left_out)))


def _with_setup(selected: "Bundle", folder: Path, package: str) -> "Bundle":
    """Return a package as it lies in its folder, with what installs it."""
    inside = (PurePosixPath(package, name) for name in selected.files)
    beside = (PurePosixPath(name) for name in _SETUP if (folder / name).is_file())
    return selected._replace(root=folder, files=(*beside, *inside))
