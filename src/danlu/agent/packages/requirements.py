"""The packages that a job requires, and what is installed for each of them.

They are read from requirements files, and from the wheels and packages that these name.
"""

import platform
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from danlu.messages import get_message

_COMMENT = re.compile(r"(^|\s)#.*$")
_CONDA = re.compile(r"([A-Za-z0-9._-]+)=([0-9][^=\s]*)(=\S+)?")  # conda list --export
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9._-]+)")
_OPTION = re.compile(r"(-[a-z]|--[a-z-]+)(?:\s*=\s*|\s+|(?<=^-[a-z]))(\S.*)?")
_TAIL = re.compile(r"(?<!\s)\s+--?[a-z-]+.*$")  # --hash and other options of one requirement
_INDEX = frozenset(
    ("-i", "--index-url", "--extra-index-url", "--no-index", "--trusted-host", "--pypi-url")
)


@dataclass(frozen=True)
class PackageRequest:
    """One requirement; ``url`` is set if it gives the location of what to install."""

    asked: str  # as written
    where: str  # 'requirements.txt line 3'
    name: str
    extras: str = ""
    specifier: str = ""
    url: str = ""
    marker: str = ""
    alone: bool = False  # its own requirements are listed separately
    optional: bool = False  # left out if it cannot be installed

    @property
    def loose(self) -> bool:
        """True if any version satisfies the requirement."""
        return not self.specifier and not self.url

    @property
    def text(self) -> str:
        """The requirement as an installer reads it."""
        return f"{self.name}{self.extras}" + (f" @ {self.url}" if self.url else self.specifier)

    def loosened(self) -> "PackageRequest":
        return replace(self, specifier="", url="")


@dataclass
class RequestedPackages:
    """Everything that was read, in order. ``faults`` are lines that cannot be installed.

    ``optional``: what is read next is left out if it cannot be installed.
    """

    wanted: list[PackageRequest] = field(default_factory=list)
    # Folders with a setup.py or pyproject.toml, and whether each is optional.
    packages: dict[Path, bool] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    links: list[Path] = field(default_factory=list)  # folders with wheels
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    prerelease: bool = False
    optional: bool = False

    def read_package(self, folder: Path) -> None:
        """Add a folder to build. Without setup.py or pyproject.toml it is ignored."""
        named = [folder / "setup.py", folder / "pyproject.toml"]
        if any(path.is_file() for path in named):
            self.packages.setdefault(folder, self.optional)

    def read_file(self, path: Path) -> None:
        """Read a requirements file. A missing file is ignored."""
        if not path.is_file() or path in self.files:
            return
        self.files.append(path)
        if any(path.parent.glob("*.whl")):
            self._link(path.parent)
        for number, line in _lines(_text(path.read_bytes())):
            where = get_message("packages.where", name=path.name, number=number)
            if line.startswith("-"):
                self._option(line, path.parent, where)
            else:
                self._requirement(line, path.parent, where)

    def _option(self, line: str, folder: Path, where: str) -> None:
        match = _OPTION.fullmatch(line)
        name, value = (match[1], (match[2] or "").strip()) if match else (line, "")
        if name in ("-r", "--requirement"):
            if not (folder / value).is_file():
                self._fault(get_message("packages.no_file", where=where, value=value))
            self.read_file(folder / value)
        elif name in ("-e", "--editable") and value:
            self._requirement(value, folder, where)
        elif name in ("-f", "--find-links") and (folder / value).is_dir():
            self._link(folder / value)
        elif name == "--pre":
            self.prerelease = True
        elif name in _INDEX:
            self.notes.append(get_message("packages.index_ignored", where=where, name=name))
        else:
            self.notes.append(get_message("packages.line_ignored", where=where, line=line))

    def _want(self, wanted: PackageRequest) -> None:
        self.wanted.append(replace(wanted, optional=self.optional))

    def _fault(self, fault: str) -> None:
        if self.optional:
            self.notes.append(get_message("packages.fault_left_out", fault=fault))
        else:
            self.faults.append(fault)

    def _link(self, folder: Path) -> None:
        if folder not in self.links:
            self.links.append(folder)

    def _requirement(self, line: str, folder: Path, where: str) -> None:
        text = _TAIL.sub("", line)
        local = folder / text
        if text.startswith(("git+", "hg+", "svn+", "bzr+")) or "://" in text.split(" @ ")[0]:
            self._want(_from_url(line, text, where))
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
            file = where.split()[0]
            self._fault(get_message("packages.not_beside", where=where, line=line, file=file))
            return
        try:
            name = parse_wheel_filename(path.name)[0]
        except InvalidWheelFilename:
            self._fault(get_message("packages.no_wheel", where=where, name=path.name))
            return
        self._want(PackageRequest(line, where, name, url=path.resolve().as_uri()))

    def _path(self, line: str, path: Path, where: str) -> None:
        if path.is_dir():
            self.read_package(path.resolve())
        elif path.is_file():
            self._want(_from_url(line, path.resolve().as_uri(), where))
        else:
            self._fault(get_message("packages.not_there", where=where, line=line))

    def _named(self, line: str, text: str, where: str) -> None:
        wanted = parse(unicodedata.normalize("NFKC", text), where, asked=line)
        if wanted is None:
            self._fault(get_message("packages.no_requirement", where=where, line=line))
        elif wanted.url.startswith("file:") and not Path(wanted.url[7:]).exists():
            # `pip freeze` in a conda environment writes the path where the package was built.
            self._want(wanted.loosened())
        elif not wanted.marker or Marker(wanted.marker).evaluate():
            self._want(wanted)


def parse(text: str, where: str, *, asked: str = "") -> PackageRequest | None:
    """Return the requirement in ``text``, or None if it is not valid."""
    conda = _CONDA.fullmatch(text)
    try:
        found = Requirement(f"{conda[1]}=={conda[2]}" if conda else text)
    except InvalidRequirement:
        return None
    return PackageRequest(
        asked or text,
        where,
        canonicalize_name(found.name),
        f"[{','.join(sorted(found.extras))}]" if found.extras else "",
        str(found.specifier),
        found.url or "",
        str(found.marker or ""),
    )


def _from_url(line: str, url: str, where: str) -> PackageRequest:
    egg = _EGG.search(url)
    return PackageRequest(line, where, canonicalize_name(egg[1]) if egg else _guess(url), url=url)


def _guess(url: str) -> str:
    """Return the package name that a URL most likely stands for; the installer checks it."""
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
    """Return number and text of every line that is not empty; '\\' at the end joins two lines."""
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
    """Decode a requirements file. PowerShell writes UTF-16 with a BOM, old editors GBK."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


_MAX_REASON = 300  # characters of the reason why something is left out

# Distributions that install the same folder. One in the runtime replaces all others.
FAMILIES = (
    (
        *("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tf-nightly", "tf-nightly-gpu"),
        *("intel-tensorflow", "tensorflow-rocm", "tensorflow-intel"),
    ),
    ("tensorboard", "tensorflow-tensorboard", "tb-nightly"),
    ("tensorflow-estimator", "tf-estimator-nightly"),
    (
        *("opencv-python-headless", "opencv-python", "opencv-contrib-python-headless"),
        *("opencv-contrib-python", "cv2"),
    ),
    ("scikit-learn", "sklearn", "scikits-learn"),
    ("scikit-image", "skimage"),
    ("pillow", "pil", "pillow-simd"),
    ("pyyaml", "yaml"),
    ("pycryptodome", "pycrypto"),
    ("python-dateutil", "dateutil"),
    ("msgpack", "msgpack-python"),
    ("mysqlclient", "mysql-python"),
    ("psycopg2-binary", "psycopg2"),
    ("danlu", "moxing", "moxing-framework", "moxing-tensorflow"),
)
# What is installed for a name that cannot be installed, or that needs a display.
RENAMED = {
    "tensorflow-gpu": "tensorflow",
    "tf-nightly-gpu": "tensorflow",
    "intel-tensorflow": "tensorflow",
    "tensorflow-tensorboard": "tensorboard",
    "opencv-python": "opencv-python-headless",
    "opencv-contrib-python": "opencv-contrib-python-headless",
    "cv2": "opencv-python-headless",
    "sklearn": "scikit-learn",
    "scikits-learn": "scikit-learn",
    "skimage": "scikit-image",
    "pil": "pillow",
    "yaml": "pyyaml",
    "pycrypto": "pycryptodome",
    "dateutil": "python-dateutil",
    "msgpack-python": "msgpack",
    "mysql-python": "mysqlclient",
    "psycopg2": "psycopg2-binary",
}
# Part of Python 3, or a tool that the platform provides.
NOT_NEEDED = frozenset(
    (
        *("argparse", "asyncio", "configparser", "dataclasses", "enum34", "functools32", "futures"),
        *("importlib", "ordereddict", "pathlib", "singledispatch", "subprocess32", "typing"),
        *("unittest2", "wsgiref", "distribute", "pip", "wheel"),
    )
)
# Conda lines that request an interpreter. Every job runs on the installed one.
PYTHON = frozenset(("python", "python2", "python3"))
# Their old versions do not compile on a new Python, and take minutes to fail.
COMPILED = frozenset(
    (
        *("numpy", "scipy", "pandas", "scikit-learn", "scikit-image", "matplotlib", "h5py"),
        *("pillow", "opencv-python-headless", "opencv-contrib-python-headless", "tensorflow"),
        *("grpcio", "protobuf", "lxml", "cython", "cryptography", "cffi", "pyarrow", "numba"),
        *("llvmlite", "statsmodels", "xgboost", "lightgbm", "gensim", "spacy", "torch"),
        *("torchvision", "shapely", "pyzmq", "gevent", "greenlet", "aiohttp", "regex", "tables"),
    )
)
NEVER = "python_version < '0'"  # as an override, it removes a requirement


@dataclass(frozen=True)
class PackageChange:
    """A requirement that is not installed as written.

    ``why``: runtime, renamed, not_needed, any_version, python or left_out.
    """

    asked: str
    where: str
    why: str
    got: str = ""  # name of what is used instead
    reason: str = ""  # why it is left out

    def sentence(self, version: str) -> str:
        used = f"{self.got} {version}".strip()
        values = {"used": used, "python": platform.python_version(), "reason": self.reason}
        sentences = get_message(f"packages.{self.why}", **values)
        return get_message(
            "packages.change", asked=self.asked, where=self.where, sentences=sentences
        )


@dataclass(frozen=True)
class PackageChoice:
    """What to install for a requirement, if anything, and the change to report."""

    install: PackageRequest | None
    change: PackageChange | None = None


def choose(wanted: PackageRequest, runtime: Mapping[str, str]) -> PackageChoice:
    """Decide by name what to install; ``runtime`` has the versions of the installed packages."""
    asked, where, name = wanted.asked, wanted.where, wanted.name
    there = next((member for member in family(name) if member in runtime), "")
    if there:
        as_asked = there == name and not wanted.url and _fits(wanted.specifier, runtime[there])
        return PackageChoice(
            None, None if as_asked else PackageChange(asked, where, "runtime", there)
        )
    if name in PYTHON:
        return PackageChoice(None, PackageChange(asked, where, "python"))
    if name in NOT_NEEDED:
        return PackageChoice(None, PackageChange(asked, where, "not_needed"))
    if name in RENAMED and not wanted.url:
        new = RENAMED[name]
        # Most distributions have other version numbers under their new name.
        kept = wanted.specifier if _same_versions(name) else ""
        renamed = replace(wanted, name=new, specifier=kept)
        return PackageChoice(renamed, PackageChange(asked, where, "renamed", new))
    return PackageChoice(wanted)


def left_out(asked: str, where: str, reason: str) -> PackageChange:
    """Return the change for something optional that cannot be installed."""
    short = reason if len(reason) <= _MAX_REASON else reason[: _MAX_REASON - 1] + "…"
    return PackageChange(asked, where, "left_out", reason=short)


def dropped(runtime: Iterable[str]) -> list[str]:
    """Return the names that must not be installed, even if another package requires them."""
    there = set(runtime)
    names = set(NOT_NEEDED)
    for members in FAMILIES:
        if there.intersection(members):
            names.update(members)
    return sorted(names - there)


def family(name: str) -> tuple[str, ...]:
    """Return ``name``, followed by the names that stand for the same thing."""
    for members in FAMILIES:
        if name in members:
            return (name, *(member for member in members if member != name))
    return (name,)


def _same_versions(name: str) -> bool:
    return name.startswith(("tensorflow", "opencv", "psycopg2", "intel"))


def _fits(specifier: str, version: str) -> bool:
    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except InvalidSpecifier:
        return False
