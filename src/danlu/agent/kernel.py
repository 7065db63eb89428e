"""The few calls of Linux that Python does not offer, through the C library.

Imported by the sandbox before anything else is: keep it to os and ctypes.
"""

import ctypes
import os

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV = 1, 2, 4
MS_REMOUNT, MS_BIND, MS_REC = 32, 4096, 16384
MS_UNBINDABLE, MS_PRIVATE = 1 << 17, 1 << 18
MNT_DETACH = 2

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER = 1, 24, 36
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 47, 2
_CAPABILITY_VERSION_3 = 0x20080522
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}

# What mount() calls a flag and what statvfs() does: they differ in one.
_KEPT_FLAGS = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}

CAP_DAC_OVERRIDE, CAP_FOWNER = 1, 3
# What a container of Docker keeps of root's capabilities: the scripts were written for containers,
# and without CAP_SYS_ADMIN none can lift a mount of ours. CAP_MKNOD is left out, and CAP_NET_RAW:
# the network is the machine's own, and tokens go over its loopback.
CONTAINER_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 29, 31})

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


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
    """Forbid writing through one mount; in a user namespace its other flags must be repeated."""
    there = os.statvfs(target).f_flag
    kept = sum(flag for bit, flag in _KEPT_FLAGS.items() if there & bit)
    mount("", target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def pivot_root(new_root: str) -> None:
    """Make ``new_root`` the root of this process and let the old one go."""
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise OSError(f"pivot_root: its number is not known for {os.uname().machine}")
    os.chdir(new_root)
    # The new and the old root may be one place: the old is then stacked on it and taken off.
    _check(_libc.syscall(number, b".", b"."), f"pivot_root to {new_root}")
    unmount(".")
    os.chdir("/")


def unmount(target: str) -> None:
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def become_subreaper() -> None:
    """Adopt every orphan among our descendants: what a script daemonised is still ours."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "PR_SET_CHILD_SUBREAPER")


def die_with_parent(signal: int) -> None:
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0), "PR_SET_PDEATHSIG")


def limit_capabilities(kept: frozenset[int]) -> None:
    """Give up root's capabilities but these, from the next program on."""
    for capability in range(64):
        if capability in kept:
            continue
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            return  # past the last capability this kernel knows, or not ours to drop


def give_up_capabilities(kept: frozenset[int]) -> None:
    """Give up root's capabilities but these in this very process."""
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
    """Let the next program have these although it is not root: they reach our own files only."""
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
