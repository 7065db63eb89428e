"""Linux system calls that Python does not offer, through the C library.

The sandbox imports this module before anything else. Import only os, errno, struct and ctypes here.
"""

import ctypes
import errno
import os
import struct

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV = 1, 2, 4
MS_REMOUNT, MS_BIND, MS_REC = 32, 4096, 16384
MS_UNBINDABLE, MS_PRIVATE = 1 << 17, 1 << 18
MNT_DETACH = 2

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER = 1, 24, 36
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 47, 2
_CAPABILITY_VERSION_3 = 0x20080522
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}

# Maps flags of statvfs() to those of mount(). They differ in one.
_KEPT_FLAGS = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}

CAP_DAC_OVERRIDE, CAP_FOWNER = 1, 3
# The capabilities that Docker leaves to root in a container, because the scripts were written for
# containers. Without CAP_SYS_ADMIN no script can undo a mount of the sandbox. CAP_MKNOD is left
# out. CAP_NET_RAW is left out because the network is that of the machine, and tokens pass over its
# loopback.
CONTAINER_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 29, 31})

# Errors of a kernel that does not offer a feature, or not to this user. Any other error, such as a
# full disk, is not a refusal.
_REFUSALS = frozenset(
    (
        *(errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EINVAL, errno.ENODEV),
        *(errno.EOPNOTSUPP, errno.EOVERFLOW),
    )
)
_SHORTAGES = frozenset(
    (
        *(errno.ENOSPC, errno.EDQUOT, errno.EROFS),
        *(errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN),
    )
)

_libc = ctypes.CDLL(None, use_errno=True)


def is_refusal(error: OSError) -> bool:
    """Return True if the kernel refused an operation for good, so that a retry is useless."""
    return error.errno in _REFUSALS


def is_shortage(error: OSError) -> bool:
    """Return True if disk space, memory or descriptors were short, which is temporary."""
    return error.errno in _SHORTAGES


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    try:
        _check(_libc.unshare(flags), "unshare")
    except OSError as error:
        # The kernel returns ENOSPC in two cases. If no namespaces are allowed at all, this is a
        # refusal. Otherwise there are too many of them at the moment.
        if error.errno in (errno.ENOSPC, errno.EUSERS) and _no_namespaces():
            raise OSError(errno.EPERM, "unshare: no namespaces are allowed here") from error
        raise


def _no_namespaces() -> bool:
    for kind in ("user", "mnt"):
        try:
            with open(f"/proc/sys/user/max_{kind}_namespaces", encoding="ascii") as file:
                if int(file.read()) == 0:
                    return True
        except (OSError, ValueError):
            continue
    return False


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    _check(
        _libc.mount(
            os.fsencode(source),
            os.fsencode(target),
            kind.encode() or None,
            ctypes.c_ulong(flags),
            os.fsencode(options) or None,
        ),
        f"mount {kind or source} on {target}",
    )


def bind(source: str, target: str) -> None:
    mount(source, target, flags=MS_BIND | MS_REC)


def make_read_only(target: str) -> None:
    """Make one mount read-only. In a user namespace its other flags must be repeated."""
    there = os.statvfs(target).f_flag
    kept = sum(flag for bit, flag in _KEPT_FLAGS.items() if there & bit)
    mount("", target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def pivot_root(new_root: str) -> None:
    """Make ``new_root`` the root of this process and detach the old one."""
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        message = f"pivot_root: its number is not known for {os.uname().machine}"
        raise OSError(errno.ENOSYS, message)
    os.chdir(new_root)
    # Both arguments may be the same path. The old root is then stacked on it and unmounted.
    _check(_libc.syscall(number, b".", b"."), f"pivot_root to {new_root}")
    unmount(".")
    os.chdir("/")


def unmount(target: str) -> None:
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def become_subreaper() -> None:
    """Adopt every orphaned descendant, such as a process that a script daemonised."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "PR_SET_CHILD_SUBREAPER")


def die_with_parent(signal: int) -> None:
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0), "PR_SET_PDEATHSIG")


def limit_capabilities(kept: frozenset[int]) -> None:
    """Drop root's capabilities except ``kept``, from the next program on."""
    for capability in range(64):
        if capability in kept:
            continue
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            return  # past the last capability of this kernel, or not permitted


def give_up_capabilities(kept: frozenset[int]) -> None:
    """Drop root's capabilities except ``kept`` in this process."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()
    _check(_libc.capget(header, sets), "capget")
    bits = sum(1 << capability for capability in kept)
    for word, mask in ((0, bits & 0xFFFFFFFF), (3, bits >> 32)):
        # effective and permitted; the inheritable ones stay what they were
        sets[word + 1] &= mask
        sets[word] = sets[word + 1]
    _check(_libc.capset(header, sets), "capset")


def keep_capabilities(kept: frozenset[int]) -> None:
    """Give the next program these capabilities although it is not root.

    They apply only to files of this user.
    """
    bits = sum(1 << capability for capability in kept)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    low, high = bits & 0xFFFFFFFF, bits >> 32
    # effective, permitted, inheritable; first the lower, then the higher 32 bits
    sets = (ctypes.c_uint32 * 6)(low, low, low, high, high, high)
    _check(_libc.capset(header, sets), "capset")
    for capability in kept:
        _check(
            _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability, 0, 0),
            "PR_CAP_AMBIENT_RAISE",
        )


# The same numbers on every architecture: they are newer than the common numbering.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_QUERY = 1
_PATH_BENEATH = 1
_REFER = 1 << 13  # rename into another folder; denied by every ruleset that does not allow it
_SCOPE_ABSTRACT_SOCKET, _SCOPE_SIGNAL = 1 << 0, 1 << 1


def restrict_process() -> bool:
    """Isolate this process from those outside with Landlock.

    Return False if the kernel does not offer it. It needs CAP_SYS_ADMIN and Linux 5.19. From Linux
    6.12 on, signals are blocked too, and connections to abstract sockets, which are in no folder.

    Raises:
        OSError: the kernel offers it, but it could not be done now.
    """
    version = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_QUERY)
    if version < 2:
        return False
    scope = _SCOPE_ABSTRACT_SOCKET | _SCOPE_SIGNAL
    rules = struct.pack("QQQ", _REFER, 0, scope if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _libc.syscall(_CREATE_RULESET, rules, ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return _refused()
    root = os.open("/", os.O_PATH | os.O_DIRECTORY)
    try:
        rule = struct.pack("=Qi", _REFER, root)
        added = _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
        drawn = added == 0 and _libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
        return True if drawn else _refused()
    finally:
        os.close(root)
        os.close(ruleset)


def _refused() -> bool:
    """Return False if the last call was refused for good. Raise any other error."""
    error = OSError(ctypes.get_errno(), f"landlock: {os.strerror(ctypes.get_errno())}")
    # E2BIG: the kernel allows no further nested ruleset.
    if is_refusal(error) or error.errno == errno.E2BIG:
        return False
    raise error
