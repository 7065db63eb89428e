"""How a process looks from outside: the arguments and variables that /proc shows of it.

The kernel shows those a program was started with. A process that becomes another's has new ones,
and the platform finds the processes of a task by them.
"""

import ctypes
import os
import struct
from collections.abc import Mapping, Sequence

_PR_SET_MM, _PR_SET_MM_MAP = 35, 14
_READ_WRITE, _PRIVATE_ANONYMOUS = 3, 0x22
_NO_FILE = 0xFFFFFFFF
# Columns of /proc/<pid>/stat, counted from 1, in the order the kernel takes them back.
_CODE, _DATA, _HEAP, _STACK = (26, 27), (45, 46), 47, 28

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = _libc.sbrk.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]


def show(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Let /proc show these of this process.

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
        # The name, in parentheses, may hold blanks and parentheses itself; then comes the third.
        fields = file.read().rsplit(b")", 1)[1].split()
    return {number: int(field) for number, field in enumerate(fields[1:], start=4)}


def _address(data: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
