"""Runs the script once, apart from the files of the user and of the other run.

The working directory, ``/tmp`` and each folder that an argument names are overlays: the script
finds what is there and reads it, and what it writes stays in a folder of the run. Both runs have
the same arguments. Where the kernel allows no overlays, the working directory is copied instead.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import danlu
from danlu.agent.script.child import needed_paths
from danlu.cli.verify.paths import NamedPath, is_within
from danlu.errors import Refused, Unavailable
from danlu.job.plan import Isolation
from danlu.sandbox.entry import ERROR_FD, ORDER, PASSED_OVER, RESET, LaunchOrder
from danlu.sandbox.root import Overlay, Root
from danlu.storage.folders import walk

SOURCE = Path(danlu.__file__).parents[1]
RECORD = SOURCE / "danlu_runtime" / "verify" / "record.py"
_ENTER = (
    "import sys; sys.path.insert(0, sys.argv[1]); from danlu.sandbox.entry import enter; enter()"
)
_TEMPORARY = ("/tmp", "/var/tmp")
_COPIED = 2 << 30  # bytes of a working directory that is copied
_UNUSED = shutil.ignore_patterns(".git", "__pycache__", ".venv", "venv", "node_modules", "*.pyc")
_INTERVAL = 0.2  # seconds
_FAILED = 125  # exit code of a process that could not enter


@dataclass(frozen=True)
class Side:
    """One of the two: the words before the script, and the environment.

    ``foreground`` is the program of ``danlu python``; the reference has none. ``readable`` are the
    folders without which it cannot start.
    """

    name: str
    start: Sequence[str]
    env: Mapping[str, str]
    foreground: str = ""
    readable: Sequence[str] = ()


@dataclass(frozen=True)
class Script:
    """The words of the script and what it needs; ``cwd`` is the working directory of the user."""

    words: Sequence[str]
    cwd: str
    outside: Sequence[NamedPath] = ()
    seed: int = 0


@dataclass(frozen=True)
class RunResult:
    """What a run did: exit status, resources, output, the files it wrote and its record."""

    status: int
    seconds: float
    peak: int
    spawned: float
    out: str
    err: str
    box: Path
    files: Mapping[str, Path]
    record: Mapping[str, Any]
    missing: str = ""
    ran_out: bool = False

    @property
    def error(self) -> str:
        """Why the run failed, in one line; "" if it did not."""
        if found := str(self.record.get("error") or ""):
            return found
        lines = [line for line in self.err.splitlines() if line.strip()]
        return "" if self.status == 0 else lines[-1] if lines else f"exit {self.status}"


@dataclass
class RunFolder:
    """The folder of a run, and what is mounted where.

    ``layers`` are pairs of the folder in which changes are kept and the path that the script sees.
    """

    folder: Path
    isolation: Isolation
    layers: list[tuple[Path, str]] = field(default_factory=list)

    @property
    def box(self) -> Path:
        return self.folder / "box"

    def make(self, *names: str) -> Path:
        path = self.folder.joinpath(*names)
        path.mkdir(parents=True, exist_ok=True)
        return path


def run(
    side: Side,
    script: Script,
    folder: Path,
    isolation: Isolation,
    *,
    timeout: float = 0.0,
    tick: Callable[[float], None] = lambda _: None,
) -> RunResult:
    """Run the script and return what it did; ``tick`` is called with the seconds so far.

    Raises:
        Refused: the working directory cannot be kept apart.
        Unavailable: the run could not be started.
    """
    place = RunFolder(folder, isolation)
    place.make("box")
    order = place.box / "order.json"
    order.write_text(
        json.dumps({"box": str(place.box), "seed": script.seed, "foreground": side.foreground})
    )
    argv = [*side.start, str(RECORD), str(order), *script.words]
    root, cwd = None, script.cwd
    if isolation.overlay:
        root = _root(place, side, script)
    else:
        copy = _copied(place, script.cwd)
        cwd, argv = str(copy), [_moved(word, script.cwd, str(copy)) for word in argv]
    launch = LaunchOrder(
        parent=os.getpid(),
        namespace=isolation.namespace,
        root=root,
        cgroup="",
        cwd=cwd,
        argv=argv,
        env=side.env,
    )
    started = time.time()
    status, peak, trouble, ran_out = _executed(launch, place, timeout, tick)
    if status == _FAILED and trouble.startswith("!"):
        raise Unavailable.from_key("verify.not_started", why=trouble[1:].strip())
    return RunResult(
        status=status,
        seconds=time.time() - started,
        peak=peak,
        spawned=started,
        out=_text(place.folder / "stdout"),
        err=_text(place.folder / "stderr"),
        box=place.box,
        files=dict(_written(place, script)),
        record=_record(place.box),
        missing=trouble.removeprefix(PASSED_OVER).strip(),
        ran_out=ran_out,
    )


def _root(place: RunFolder, side: Side, script: Script) -> Root:
    overlays, private = [], []
    own = str(place.folder)
    seen = [script.cwd, *(each.path for each in script.outside if each.exists)]
    if is_within(own, script.cwd):
        raise Refused.from_key("verify.inside", path=script.cwd)
    for path in _TEMPORARY:
        if not os.path.isdir(path) or os.path.islink(path):
            continue
        if is_within(own, path):
            private.append((str(place.make("private", path.strip("/"))), path))
            os.chmod(private[-1][0], 0o1777)
            place.layers.append((Path(private[-1][0]), path))
        else:
            seen.append(path)
    for path in (each.path for each in script.outside if not each.exists):
        private.append((str(place.make("private", path.strip("/"))), path))
        place.layers.append((Path(private[-1][0]), path))
    for number, path in enumerate(dict.fromkeys(seen)):
        upper, work = place.make("upper", str(number)), place.make("work", str(number))
        overlays.append(Overlay(path, str(upper), str(work), path))
        place.layers.append((upper, path))
    readable = [*needed_paths(), *side.readable]
    return Root(
        folder=str(place.make("root")),
        private=private,
        overlays=overlays,
        outputs=[],
        hidden=[],
        kept=list(dict.fromkeys(map(os.path.realpath, readable))),
        box=str(place.box),
    )


def _copied(place: RunFolder, cwd: str) -> Path:
    size = sum(os.lstat(os.path.join(top, name)).st_size for top, _, ns in walk(cwd) for name in ns)
    if size > _COPIED or is_within(str(place.folder), cwd):
        raise Refused.from_key("verify.too_large", path=cwd)
    copy = place.folder / "here"
    shutil.copytree(cwd, copy, symlinks=True, ignore=_UNUSED, ignore_dangling_symlinks=True)
    return copy


def _moved(word: str, before: str, after: str) -> str:
    """Return a word with a path inside the working directory changed to that of the copy."""
    name, equals, value = word.partition("=")
    if word.startswith("-") and equals:
        return f"{name}={_moved(value, before, after)}"
    return after + word[len(before) :] if is_within(word, before) else word


def _executed(
    launch: LaunchOrder, place: RunFolder, timeout: float, tick: Callable[[float], None]
) -> tuple[int, int, str, bool]:
    """Return exit status, peak memory in bytes, what the sandbox reports, and if it ran out."""
    (order, send), (trouble, report) = os.pipe(), os.pipe()
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    out, err = (os.open(place.folder / name, flags, 0o600) for name in ("stdout", "stderr"))
    nothing = os.open(os.devnull, os.O_RDONLY)
    # High numbers first: a descriptor must not be replaced before it is used.
    moved = [os.dup(each) for each in (nothing, out, err, order, report)]
    targets = (0, 1, 2, ORDER, ERROR_FD)
    lifted = [_lift(each) for each in moved]
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", "-c", _ENTER, str(SOURCE)],
        {},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, one, other) for one, other in zip(lifted, targets, strict=True)
        ],
        setsigmask=[],
        setsigdef=RESET,
    )
    for handle in (*lifted, nothing, out, err, order, report):
        os.close(handle)
    try:
        with open(send, "wb") as pipe:
            pipe.write(launch.dump())
        with open(trouble, encoding="utf-8", errors="replace") as pipe_text:
            found = pipe_text.read()  # ends when the script starts
        ran_out = _waited(pid, timeout, tick)
    except BaseException:
        _kill(pid)
        os.waitpid(pid, 0)
        raise
    _, status, usage = os.wait4(pid, 0)
    _kill(pid)  # what the script left running
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, found, ran_out


def _lift(handle: int) -> int:
    import fcntl

    lifted = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(handle)
    return lifted


def _waited(pid: int, timeout: float, tick: Callable[[float], None]) -> bool:
    """Wait until the process has ended; return True if it was ended because of the time."""
    handle, began = os.pidfd_open(pid), time.monotonic()
    try:
        while not select.select([handle], [], [], _INTERVAL)[0]:
            now = time.monotonic() - began
            tick(now)
            if timeout and now > timeout:
                _kill(pid)
                return True
        return False
    finally:
        os.close(handle)


def _kill(pid: int) -> None:
    """Kill the process group of a run; it has a session of its own."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _written(place: RunFolder, script: Script) -> Iterator[tuple[str, Path]]:
    """Yield name and place of each file that the run wrote; in the working directory, relative."""
    if not place.isolation.overlay:
        yield from _changed(place.folder / "here", Path(script.cwd))
        return
    for folder, seen in place.layers:
        for name, path in _files(folder):
            whole = os.path.join(seen, name)
            inside = is_within(whole, script.cwd)
            yield (os.path.relpath(whole, script.cwd) if inside else whole), path
    for name, path in _files(place.folder / "root"):
        if path.stat().st_size:  # an empty one is where a file was mounted
            yield f"/{name}", path


def _changed(copy: Path, before: Path) -> Iterator[tuple[str, Path]]:
    for name, path in _files(copy):
        original = before / name
        if not original.is_file() or original.stat().st_mtime_ns != path.stat().st_mtime_ns:
            yield name, path


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for top, _, names in walk(folder):
        for name in names:
            path = Path(top, name)
            is_code = name.endswith(".pyc") or "__pycache__" in path.parts
            if stat.S_ISREG(path.lstat().st_mode) and not is_code:
                yield os.path.relpath(path, folder), path


def _record(box: Path) -> Mapping[str, Any]:
    try:
        found: dict[str, Any] = json.loads((box / "record.json").read_text())
        return found
    except (OSError, ValueError):
        return {}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
