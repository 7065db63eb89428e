"""Another machine: a network namespace at the end of a cable that can be pulled out.

Only root can make one. The disk and the processes are this machine's; all else goes by the cable.
"""

import ctypes
import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import pytest

T = TypeVar("T")
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET


@dataclass(frozen=True)
class FarMachine:
    """``near`` is our address on the cable, ``far`` its own."""

    name: str
    near: str
    far: str
    inside: ThreadPoolExecutor

    def do(self, work: Callable[[], T]) -> T:
        """Do something there; processes that are started there stay there.

        Always in the same thread: the kernel ends who wants to die with its parent with the
        thread that has started it.
        """
        return self.inside.submit(work).result()

    def cut(self) -> None:
        _ip("link", "set", f"{self.name}a", "down")

    def heal(self) -> None:
        _ip("link", "set", f"{self.name}a", "up")


@contextmanager
def far_machine() -> Iterator[FarMachine]:
    """Give a machine; the test is skipped where none can be made."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("a network of its own needs root and the program ip")
    number = secrets.randbelow(1 << 14)
    net = f"10.{192 + number % 64}.{number >> 6}"
    name = f"dl{number:x}"
    try:
        _ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespace can be made here: {error.stderr.decode().strip()}")
    inside = ThreadPoolExecutor(1, initializer=_enter, initargs=(name,))
    try:
        _ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name)
        _ip("addr", "add", f"{net}.1/24", "dev", f"{name}a")
        _ip("link", "set", f"{name}a", "up")
        _ip("-n", name, "addr", "add", f"{net}.2/24", "dev", f"{name}b")
        _ip("-n", name, "link", "set", f"{name}b", "up")
        _ip("-n", name, "link", "set", "lo", "up")
        yield FarMachine(name, f"{net}.1", f"{net}.2", inside)
    finally:
        inside.shutdown()
        subprocess.run(["ip", "link", "del", f"{name}a"], check=False, capture_output=True)
        _ip("netns", "del", name)


def _enter(name: str) -> None:
    """Let this thread be on that machine."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.open(f"/run/netns/{name}", os.O_RDONLY)
    try:
        if libc.setns(handle, _NEW_NETWORK):
            raise OSError(ctypes.get_errno(), "setns")
    finally:
        os.close(handle)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
