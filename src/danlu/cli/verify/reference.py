"""Finds or makes the environment with the real TensorFlow 1.15.5, for Python 3.7.

The environment is below ``DANLU_HOME`` and is made once, by uv: under a temporary name, then
renamed. A file lock lets one process make it at a time. Another set of packages has its own.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from danlu.agent.packages.uv import UvFailed, installer_variables
from danlu.atomic_file import PREFIX
from danlu.errors import Refused, Unavailable

PACKAGES = (
    *("tensorflow==1.15.5", "numpy==1.18.5", "keras==2.3.1", "h5py<3", "protobuf==3.20.3"),
    "scipy<1.5",
)
_PYTHON = (3, 7)
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"
# The distributions of TensorFlow 1.15 for CPUs and GPUs have names of their own.
_TENSORFLOW = """
import os, sys
found = [name for path in sys.path if os.path.isdir(path) for name in os.listdir(path)]
found = [name.split('-')[1] for name in found
         if name.startswith('tensorflow') and name.endswith(('.dist-info', '.egg-info'))
         and name.split('-')[0] in ('tensorflow', 'tensorflow_cpu', 'tensorflow_gpu')]
print(found[0] if found else '')
"""
_SECONDS = 60.0
SYSTEM = (
    (Path("/opt"), "python*3.7*/bin/python3.7"),
    (Path("/usr/local/bin"), "python3.7"),
)

Notify = Callable[[str], None]  # receives the key of a message


class ReferenceMaker:
    """Makes the environment of the reference.

    ``given`` is the Python of the user, or empty; ``extra`` are further packages; ``fetch``: uv may
    download a Python 3.7.
    """

    def __init__(
        self,
        home: Path,
        env: Mapping[str, str],
        *,
        given: str = "",
        extra: Sequence[str] = (),
        fetch: bool = False,
    ) -> None:
        self._folder = home / "reference"
        self._env = env
        self._given = given
        self._wanted = (*PACKAGES, *extra)
        self._extra = extra
        self._fetch = fetch

    def python(self, notify: Notify) -> str:
        """Return the Python of the environment; make the environment if it does not exist.

        Raises:
            Refused: there is no Python 3.7, or the given one is another.
            Unavailable: the packages could not be installed.
        """
        if self._given and not self._extra and _tensorflow_of(self._given).startswith("1.15."):
            return _absolute(self._given)
        target = self.folder
        if _is_whole(target):
            return str(target / "bin/python")
        self._folder.mkdir(parents=True, exist_ok=True)
        with _locked(self._folder / f"{target.name}.lock", notify):
            if not _is_whole(target):
                base = self._base()
                notify("verify.making")
                self._make(target, base)
        return str(target / "bin/python")

    @property
    def folder(self) -> Path:
        """The folder of the environment: its packages, and the Python if the user named one."""
        text = "\n".join((*self._wanted, self._given and _absolute(self._given)))
        mark = hashlib.sha256(text.encode()).hexdigest()[:12]
        return self._folder / f"tensorflow-1.15.5-{mark}"

    def _base(self) -> str:
        """Return a Python 3.7: the given one, one on this machine, or one that uv fetches."""
        if self._given:
            if not os.path.exists(self._given) and shutil.which(self._given) is None:
                raise Refused.from_key("verify.no_such_python", path=self._given)
            if _version_of(self._given) != _PYTHON:
                raise Refused.from_key("verify.other_python", path=self._given)
            return _absolute(self._given)
        for candidate in candidates(self._env):
            if _version_of(candidate) == _PYTHON:
                return candidate
        if not self._fetch:
            raise Refused.from_key("verify.no_python")
        try:
            self._uv("python", "install", "3.7", downloads="manual")
            return self._uv("python", "find", "--managed-python", "3.7").strip().split("\n")[-1]
        except UvFailed as error:
            raise Unavailable.from_key("verify.not_fetched", why=error.line) from None

    def _make(self, target: Path, base: str) -> None:
        self._remove_left_over()
        made = target.with_name(f"{PREFIX}{os.getpid()}-{target.name}")
        try:
            self._uv("venv", "--quiet", "--relocatable", "--python", base, str(made))
            python = str(made / "bin/python")
            self._uv("pip", "install", "--compile-bytecode", "--python", python, *self._wanted)
            os.rename(made, target)
        except UvFailed as error:
            key = "verify.no_network" if error.outage else "verify.not_installed"
            raise Unavailable.from_key(key, why=error.line) from None
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _remove_left_over(self) -> None:
        """Remove what a killed process left of this environment; the caller holds its lock."""
        for folder in self._folder.glob(f"{PREFIX}*-{self.folder.name}"):
            shutil.rmtree(folder, ignore_errors=True)

    def _uv(self, *words: str, downloads: str = "never") -> str:
        from uv import find_uv_bin

        env = {**installer_variables(self._env), "NO_COLOR": "1", "UV_NO_PROGRESS": "1"}
        env |= {"UV_PYTHON_DOWNLOADS": downloads}
        done = subprocess.run(
            [find_uv_bin(), *words],
            cwd=self._folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
        if done.returncode:
            raise UvFailed(f"{done.stdout}\n{done.stderr}".strip())
        return done.stdout


def candidates(env: Mapping[str, str]) -> Iterator[str]:
    """Yield the places where a Python 3.7 may be, the search path first."""
    found = shutil.which("python3.7", path=env.get("PATH", ""))
    if found:
        yield found
    home = Path(env.get("HOME") or "/nonexistent")
    data = Path(env.get("XDG_DATA_HOME") or home / ".local/share")
    pyenv = Path(env.get("PYENV_ROOT") or home / ".pyenv")
    for folder, pattern in (
        (pyenv / "versions", "3.7*/bin/python3.7"),
        (
            Path(env.get("UV_PYTHON_INSTALL_DIR") or data / "uv/python"),
            "cpython-3.7*/bin/python3.7",
        ),
        (home / "miniconda3/envs", "*/bin/python3.7"),
        (home / "anaconda3/envs", "*/bin/python3.7"),
        *SYSTEM,
    ):
        yield from map(str, sorted(folder.glob(pattern), reverse=True))


def _is_whole(folder: Path) -> bool:
    return os.access(folder / "bin/python", os.X_OK)


def _absolute(python: str) -> str:
    """Return an absolute path. A link is kept: in a virtual environment it is the environment."""
    return os.path.abspath(os.path.expanduser(shutil.which(python) or python))


def _version_of(python: str) -> tuple[int, ...] | None:
    found = _asked(python, _VERSION)
    return tuple(map(int, found.split("."))) if found else None


def _tensorflow_of(python: str) -> str:
    """Return the version of TensorFlow that a Python has; "" if it has none."""
    return _asked(python, _TENSORFLOW)


def _asked(python: str, code: str) -> str:
    try:
        done = subprocess.run(
            [_absolute(python), "-E", "-s", "-c", code],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


@contextmanager
def _locked(path: Path, notify: Notify) -> Iterator[None]:
    """Hold a file lock; wait if another process makes the environment."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            notify("verify.waiting")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
