"""A small index of wheels in a folder: made by hand, read without a network."""

import base64
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import distribution
from pathlib import Path


def wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str] | None = None,
    *,
    requires: Sequence[str] = (),
    scripts: Mapping[str, str] | None = None,
    tag: str = "py3-none-any",
) -> Path:
    """Write a wheel; without ``files`` it holds a module that knows its version."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = name.replace("-", "_")
    info = f"{stem}-{version}.dist-info"
    held = dict(files or {f"{stem}.py": f"version = {version!r}\n"})
    needs = "".join(f"Requires-Dist: {text}\n" for text in requires)
    held[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
    held[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n"
    if scripts:
        lines = "".join(f"{command} = {target}\n" for command, target in scripts.items())
        held[f"{info}/entry_points.txt"] = f"[console_scripts]\n{lines}"
    record = "".join(f"{path},{_sum(text)},{len(text.encode())}\n" for path, text in held.items())
    held[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    path = folder / f"{stem}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in held.items():
            archive.writestr(member, text)
    return path


def _sum(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def sdist(folder: Path, name: str, version: str) -> Path:
    """Write a source distribution of one module, as old packages have it: a setup.py."""
    top = f"{name}-{version}"
    files = {
        "setup.py": f"from setuptools import setup\n"
        f"setup(name={name!r}, version={version!r}, py_modules=[{name!r}])\n",
        f"{name}.py": f"version = {version!r}\n",
        "PKG-INFO": f"Metadata-Version: 1.0\nName: {name}\nVersion: {version}\n",
    }
    path = folder / f"{top}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for member, text in files.items():
            entry = tarfile.TarInfo(f"{top}/{member}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def wheel_of_installed(folder: Path, name: str) -> Path:
    """Write the wheel an installed distribution came from: builds without a network need it."""
    found = distribution(name)
    path = folder / f"{name}-{found.version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in found.files or ():
            if ".." not in file.parts and file.suffix != ".pyc" and file.locate().is_file():
                archive.write(file.locate(), str(file))
    return path
