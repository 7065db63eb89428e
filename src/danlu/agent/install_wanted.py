"""What a job asks to have installed: requirements files, and wheels and packages they name."""

import re
import unicodedata
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

_COMMENT = re.compile(r"(^|\s)#.*$")
_CONDA = re.compile(r"([A-Za-z0-9._-]+)=([0-9][^=\s]*)(=\S+)?")  # conda list --export
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9._-]+)")
_OPTION = re.compile(r"(-[a-z]|--[a-z-]+)(?:\s*=\s*|\s+|(?<=^-[a-z]))(\S.*)?")
_TAIL = re.compile(r"(?<!\s)\s+--?[a-z-]+.*$")  # --hash and other options of one requirement
_INDEX = frozenset(
    ("-i", "--index-url", "--extra-index-url", "--no-index", "--trusted-host", "--pypi-url")
)


@dataclass(frozen=True)
class Wanted:
    """One requirement; ``url`` where it says itself what to install."""

    asked: str  # as written
    where: str  # 'requirements.txt line 3'
    name: str
    extras: str = ""
    specifier: str = ""
    url: str = ""
    marker: str = ""
    alone: bool = False  # what it needs itself is listed beside it

    @property
    def loose(self) -> bool:
        """Any version is good enough."""
        return not self.specifier and not self.url

    @property
    def text(self) -> str:
        """The requirement as an installer reads it."""
        return f"{self.name}{self.extras}" + (f" @ {self.url}" if self.url else self.specifier)

    def loosened(self) -> "Wanted":
        return replace(self, specifier="", url="")


@dataclass
class Asked:
    """Everything that was read, in order. ``faults`` are lines that nobody can install."""

    wanted: list[Wanted] = field(default_factory=list)
    packages: list[Path] = field(default_factory=list)  # folders with a setup.py
    files: list[Path] = field(default_factory=list)
    links: list[Path] = field(default_factory=list)  # folders with wheels
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    prerelease: bool = False

    def read_package(self, folder: Path) -> None:
        """Note a folder to build. Without a setup.py there is nothing to install."""
        named = [folder / "setup.py", folder / "pyproject.toml"]
        if any(path.is_file() for path in named) and folder not in self.packages:
            self.packages.append(folder)

    def read_file(self, path: Path) -> None:
        """Read a requirements file; one that is not there asks for nothing."""
        if not path.is_file() or path in self.files:
            return
        self.files.append(path)
        if any(path.parent.glob("*.whl")):
            self._link(path.parent)
        for number, line in _lines(_text(path.read_bytes())):
            where = f"{path.name} line {number}"
            if line.startswith("-"):
                self._option(line, path.parent, where)
            else:
                self._requirement(line, path.parent, where)

    def _option(self, line: str, folder: Path, where: str) -> None:
        match = _OPTION.fullmatch(line)
        name, value = (match[1], (match[2] or "").strip()) if match else (line, "")
        if name in ("-r", "--requirement"):
            if not (folder / value).is_file():
                self.faults.append(f"{where}: there is no file {value!r}.")
            self.read_file(folder / value)
        elif name in ("-e", "--editable") and value:
            self._requirement(value, folder, where)
        elif name in ("-f", "--find-links") and (folder / value).is_dir():
            self._link(folder / value)
        elif name == "--pre":
            self.prerelease = True
        elif name in _INDEX:
            self.notes.append(f"{where}: {name} is passed over; this machine's own indexes hold")
        else:
            self.notes.append(f"{where}: {line!r} is passed over")

    def _link(self, folder: Path) -> None:
        if folder not in self.links:
            self.links.append(folder)

    def _requirement(self, line: str, folder: Path, where: str) -> None:
        text = _TAIL.sub("", line)
        local = folder / text
        if text.startswith(("git+", "hg+", "svn+", "bzr+")) or "://" in text.split(" @ ")[0]:
            self.wanted.append(_from_url(line, text, where))
        elif text.endswith(".whl") and " @ " not in text:
            self._wheel(line, local, where)
        elif text.startswith((".", "/")) or (
            text.endswith((".tar.gz", ".zip")) and "@" not in text
        ):
            self._path(line, local, where)
        else:
            self._named(line, text, where)

    def _wheel(self, line: str, path: Path, where: str) -> None:
        if not path.is_file():
            self.faults.append(f"{where}: {line!r} is not beside {where.split()[0]}.")
            return
        try:
            name = parse_wheel_filename(path.name)[0]
        except InvalidWheelFilename:
            self.faults.append(f"{where}: {path.name!r} is not the name of a wheel.")
            return
        self.wanted.append(Wanted(line, where, name, url=path.resolve().as_uri()))

    def _path(self, line: str, path: Path, where: str) -> None:
        if path.is_dir():
            self.read_package(path.resolve())
        elif path.is_file():
            self.wanted.append(_from_url(line, path.resolve().as_uri(), where))
        else:
            self.faults.append(f"{where}: there is no {line!r}.")

    def _named(self, line: str, text: str, where: str) -> None:
        wanted = parse(unicodedata.normalize("NFKC", text), where, asked=line)
        if wanted is None:
            self.faults.append(f"{where}: {line!r} is not a requirement.")
        elif wanted.url.startswith("file:") and not Path(wanted.url[7:]).exists():
            # `pip freeze` in a conda environment writes where the package was built.
            self.wanted.append(wanted.loosened())
        elif not wanted.marker or Marker(wanted.marker).evaluate():
            self.wanted.append(wanted)


def parse(text: str, where: str, *, asked: str = "") -> Wanted | None:
    """Return a requirement that has a name; None where it cannot be understood."""
    conda = _CONDA.fullmatch(text)
    try:
        found = Requirement(f"{conda[1]}=={conda[2]}" if conda else text)
    except InvalidRequirement:
        return None
    return Wanted(
        asked or text,
        where,
        canonicalize_name(found.name),
        f"[{','.join(sorted(found.extras))}]" if found.extras else "",
        str(found.specifier),
        found.url or "",
        str(found.marker or ""),
    )


def _from_url(line: str, url: str, where: str) -> Wanted:
    egg = _EGG.search(url)
    return Wanted(line, where, canonicalize_name(egg[1]) if egg else _guess(url), url=url)


def _guess(url: str) -> str:
    """Return the name an address most likely stands for; the installer checks it."""
    parts = [part for part in url.split("#")[0].split("?")[0].split("/") if part]
    last = parts[-1]
    try:
        if last.endswith(".whl"):
            return parse_wheel_filename(last)[0]
        return parse_sdist_filename(last)[0]
    except (InvalidWheelFilename, InvalidSdistFilename):
        if "archive" in parts[2:]:  # …/<name>/archive/master.zip
            last = parts[parts.index("archive") - 1]
        return canonicalize_name(last.split("@")[0].removesuffix(".git"))


def _lines(text: str) -> list[tuple[int, str]]:
    """Return number and text of every line that says something; '\\' at the end joins two."""
    found, begun, first = [], "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first if begun else number
        line = _COMMENT.sub("", line).strip()
        if line.endswith("\\"):
            begun += line[:-1] + " "
            continue
        whole = (begun + line).strip()
        begun = ""
        if whole:
            found.append((first, whole))
    return found


def _text(data: bytes) -> str:
    """PowerShell writes UTF-16 with a mark, old editors GBK."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")
