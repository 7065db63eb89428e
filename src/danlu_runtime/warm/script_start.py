"""Turns a fork of the warm process into the process of a script.

Everything that starting a program would do is done here. The process enters its sandbox and gets
its variables and arguments. Random state that must differ between processes is seeded again.
Modules that the script has not imported are hidden.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import site
import socket
import struct
import sys
import time
from collections.abc import Mapping, Sequence

from danlu import messages
from danlu.messages import get_message
from danlu.sandbox.entry import LaunchOrder, enter_sandbox
from danlu.taskdir import warm_protocol
from danlu_runtime.start import activate
from danlu_runtime.warm import KERAS
from danlu_runtime.warm import env_check as variables
from danlu_runtime.warm.env_check import LateEnvCheck
from danlu_runtime.warm.modules import Change, HiddenModules, Recording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any


def cold_start_reason(
    launch: Mapping[str, Any], packages: Iterable[str], loaded: set[str], keras: bytes
) -> str:
    """Return the reason why the script needs a cold start, "" if there is none.

    ``loaded`` has the top-level names of the loaded modules. ``keras`` is the content of the
    settings file that Keras has read.
    """
    return (
        _why_of_place(packages, keras)
        or _why_of_names(launch, loaded)
        or variables.why(launch["code"])
    )


def _why_of_place(packages: Iterable[str], keras: bytes) -> str:
    if any(os.path.isdir(folder) and os.listdir(folder) for folder in packages):
        return get_message("cold.packages")
    home = os.path.expanduser("~")
    if not _has_same_settings(_read(os.path.join(home, KERAS)), keras):
        return get_message("cold.keras_file", keras=KERAS)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    own = os.path.join(home, ".local", "lib", version, "site-packages")
    if site.ENABLE_USER_SITE and os.path.isdir(own):
        return get_message("cold.own_packages", own=own)
    return ""


def _has_same_settings(found: bytes, keras: bytes) -> bool:
    try:
        return not found or bool(json.loads(found) == json.loads(keras))
    except ValueError:
        return False


def _why_of_names(launch: Mapping[str, Any], loaded: set[str]) -> str:
    first = os.getcwd() if launch["module"] else os.path.dirname(os.path.abspath(launch["run"]))
    for folder in dict.fromkeys([first, *launch["sys_path"]]):
        for name in sorted(_modules(folder)):
            if name in loaded:
                return get_message("cold.own_module", name=name)
    return ""


def _modules(folder: str) -> Iterator[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        stem, dot, ending = name.partition(".")
        if dot and ending.endswith(("py", "so", "pyc")):
            yield stem
        elif not dot and os.path.isfile(os.path.join(folder, name, "__init__.py")):
            yield name


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


_PR_SET_MM, _PR_SET_MM_MAP = 35, 14
_READ_WRITE, _PRIVATE_ANONYMOUS = 3, 0x22
_NO_FILE = 0xFFFFFFFF
# Columns of /proc/<pid>/stat, counted from 1, in the order of the kernel's prctl_mm_map.
_CODE, _DATA, _HEAP, _STACK = (26, 27), (45, 46), 47, 28

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = _libc.sbrk.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]


def set_cmdline_and_environ(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Set the command line and the environment that /proc shows for this process.

    The kernel shows those with which a program was started. The platform finds the processes of a
    task by them.

    Raises:
        OSError: the kernel was built without CONFIG_CHECKPOINT_RESTORE.
    """
    arguments = b"".join(os.fsencode(word) + b"\0" for word in argv)
    variables = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in env.items())
    size = len(arguments) + len(variables)
    at = _libc.mmap(None, size, _READ_WRITE, _PRIVATE_ANONYMOUS, -1, 0)
    if at in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap")
    ctypes.memmove(at, arguments + variables, size)
    middle = at + len(arguments)
    columns = _columns()
    places = (
        *(columns[number] for number in (*_CODE, *_DATA, _HEAP)),
        _libc.sbrk(0),
        columns[_STACK],
        *(at, middle, middle, at + size),
    )
    data = struct.pack("=12Q2I", *places, 0, 0, _NO_FILE)
    if _libc.prctl(_PR_SET_MM, _PR_SET_MM_MAP, _address(data), len(data), 0) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"PR_SET_MM_MAP: {os.strerror(number)}")


def _columns() -> dict[int, int]:
    with open("/proc/self/stat", "rb") as file:
        # The second column, the name in parentheses, may contain blanks and parentheses. Split
        # after it.
        fields = file.read().rsplit(b")", 1)[1].split()
    return {number: int(field) for number, field in enumerate(fields[1:], start=4)}


def _address(data: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


class ColdStartRequired(Exception):
    """The script needs a cold start; the message is the reason."""


def start_script(
    order: LaunchOrder,
    handles: list[int],
    connection: socket.socket,
    recording: Recording,
    keras: bytes,
) -> str:
    """Return the exchange directory of the task, in the process of its script.

    Exit if the agent has closed the connection or must start a process itself.
    """
    try:
        if len(os.listdir("/proc/self/task")) > 1:
            raise ColdStartRequired(get_message("cold.threads"))
        lost = enter_sandbox(order, at_once=True)
        os.environ.clear()
        os.environ.update(order.env)
        messages.use("")  # the language in the environment of the task
        box = order.argv[-1]
        with open(os.path.join(box, "launch.json"), encoding="utf-8") as file:
            launch = json.load(file)
        packages = order.env.get("DANLU_PACKAGES", "").splitlines()
        loaded = {name.partition(".")[0] for name in sys.modules if name not in recording.before}
        reason = cold_start_reason(launch, packages, loaded, keras)
        if reason:
            raise ColdStartRequired(reason)
        set_cmdline_and_environ(order.argv, order.env)
        warm_protocol.send_json(connection, ready=os.getpid(), keeper=os.getppid(), lost=list(lost))
        if connection.recv(1) != warm_protocol.GO:
            os._exit(0)
    except Exception as error:
        with contextlib.suppress(OSError):
            warm_protocol.send_json(connection, cold=str(error) or repr(error))
        os._exit(0)
    connection.close()
    _take(handles)
    _reseed()
    sys.argv, sys.orig_argv = list(order.argv[1:]), list(order.argv)
    for folder in packages:
        site.addsitedir(folder)
    recording.changes.append(Change("tensorflow"))
    recording.changes[-1].files[KERAS] = keras
    watch = LateEnvCheck(name for change in recording.changes for name in change.variables)
    hidden = HiddenModules(recording, _is_ours, activate.finder.after)
    activate.start()
    activate.repair_program()
    watch.begin()
    hidden.asked = watch
    activate.finder.hidden_modules = hidden
    return box


def _is_ours(name: str) -> bool:
    return f"{name}.".startswith(("danlu.", "danlu_runtime.warm."))


def _take(handles: list[int]) -> None:
    reading, writing = handles
    for source, target in ((reading, 0), (writing, 1), (writing, 2)):
        os.dup2(source, target)
    for handle in [int(name) for name in os.listdir("/proc/self/fd")]:
        if handle > 2:
            with contextlib.suppress(OSError):  # the descriptor of the listing itself
                os.close(handle)


def _reseed() -> None:
    """Reset random state, time zone and other values that the warm process computed for itself."""
    time.tzset()
    loaded: dict[str, Any] = sys.modules
    if "numpy.random" in loaded:
        loaded["numpy.random"].seed()  # the random module does this itself at every fork
    if "tempfile" in loaded:
        loaded["tempfile"].tempdir = None
    if "logging" in loaded:
        logging = loaded["logging"]
        logging._startTime = type(logging._startTime)(_now(logging._startTime))
    if "multiprocessing.process" in loaded:
        process = loaded["multiprocessing.process"]
        process.ORIGINAL_DIR = os.getcwd()
        process.current_process()._config["authkey"] = process.AuthenticationString(os.urandom(32))


def _now(like: float) -> float:
    """Return the current time in the unit of ``like``; Python 3.13 counts nanoseconds."""
    return time.time_ns() if isinstance(like, int) else time.time()
