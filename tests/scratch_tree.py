"""A copy of the work tree with a venv of its own, for runs that must not touch either.

The venv is made of links to the packages of this one; only the four packages of ours are those of
the copy, in every process that its Python starts.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[1]
_EDITABLE = "_editable_impl_danlu.pth"


def copy_tree(target: Path) -> None:
    """Put every file that is not ignored into ``target``, anew."""
    shutil.rmtree(target, ignore_errors=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0"):
        if name and os.path.lexists(ROOT / name):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    _link_venv(Path(sys.prefix), target / ".venv", target / "src")


def python_of(tree: Path) -> str:
    return str(tree / ".venv" / "bin" / "python")


def packages_of(tree: Path) -> Path:
    """Return where what is installed lies."""
    return tree / ".venv" / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)


def _link_venv(venv: Path, target: Path, source: Path) -> None:
    packages = Path(sysconfig.get_path("purelib")).relative_to(venv)
    (target / packages).mkdir(parents=True)
    (target / "bin").mkdir()
    for entry in venv.iterdir():
        if entry.name not in ("bin", "lib"):
            (target / entry.name).symlink_to(os.readlink(entry) if entry.is_symlink() else entry)
    for entry in (venv / "lib").iterdir():
        if entry.name != packages.parts[1]:
            (target / "lib" / entry.name).symlink_to(entry)
    for entry in (venv / packages).iterdir():
        if entry.name != _EDITABLE:
            (target / packages / entry.name).symlink_to(entry)
    (target / packages / _EDITABLE).write_text(f"{source}\n")
    for entry in (venv / "bin").iterdir():
        _copy_program(entry, target / "bin" / entry.name, str(venv))


def _copy_program(program: Path, copy: Path, venv: str) -> None:
    """Let a script run with the Python beside its copy."""
    with program.open("rb") as file:
        is_script = not program.is_symlink() and file.read(2) == b"#!"
    if is_script:
        copy.write_text(program.read_text().replace(venv, str(copy.parents[1])))
        copy.chmod(0o755)
    else:
        copy.symlink_to(os.readlink(program) if program.is_symlink() else program)
