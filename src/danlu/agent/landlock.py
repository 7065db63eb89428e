"""Keeps the processes of a task from looking into, or signalling, those of another.

Tasks of one machine run as one user; without this, ``/proc/<pid>/root`` and ``ptrace`` would lead
from each to all others. Landlock draws a line around a process and all it will start: nothing
inside reaches across it. No file is closed to the script.
"""

import ctypes
import os
import struct

# The same numbers on every machine: they came after the tables had been unified.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_TELL_VERSION = 1
_PATH_BENEATH = 1
_REFER = 1 << 13  # renaming into another folder: denied by every ruleset that does not allow it
_SCOPE_SIGNAL = 1 << 1

_libc = ctypes.CDLL(None, use_errno=True)


def draw_line() -> bool:
    """Cut this process off from those outside; False where the kernel does not offer it.

    Needs CAP_SYS_ADMIN, and Linux 5.19; from 6.12 on signals are held back too.
    """
    version = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _TELL_VERSION)
    if version < 2:
        return False
    rules = struct.pack("QQQ", _REFER, 0, _SCOPE_SIGNAL if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _libc.syscall(_CREATE_RULESET, rules, ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return False
    root = os.open("/", os.O_PATH | os.O_DIRECTORY)
    try:
        rule = struct.pack("=Qi", _REFER, root)
        added = _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
        return bool(added == 0 and _libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(root)
        os.close(ruleset)
