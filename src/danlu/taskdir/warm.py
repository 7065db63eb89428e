"""Processes that wait with TensorFlow loaded: where they are found, and what is said to them.

In the folder ``warm`` of a home, which is there only while a server keeps such processes:

    <key>.json   the variables one is to be started with: written by an agent that found none
    <key>.sock   where it listens, once everything is loaded
    <key>.vain   what an agent makes of that when it has waited there in vain: nobody else does,
                 and another process is started

An agent sends an order with two descriptors (input, output). The answer is ``ready`` with two
process ids, or ``cold`` with a reason; after ``go`` the script runs, and its wait status comes
last. Whoever hangs up before ``go`` has started nothing.
"""

import contextlib
import hashlib
import json
import os
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = "warm"
GIVEN_UP = ".vain"
GO = b"g"
_LENGTH = struct.Struct("!I")

# Read when Python starts: a script that sets one changes the programs it starts, not itself.
_AT_START = (
    *("PYTHON", "_PYTHON", "LD_", "GLIBC_", "MALLOC_", "TCMALLOC_", "LC_", "LANG", "LANGUAGE"),
    "TZ",
)
# Read while TensorFlow and what it imports are loaded, or kept from then on: found by watching
# getenv() and os.environ during the import. docs/design/warm-start.md
_AT_LOAD = (
    *("TF_", "TF2_", "XLA_", "TPU_", "MLIR_", "LLVM_", "KERAS_", "CUDA_", "NVIDIA_", "NCCL_"),
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "GOTO_", "GOTOBLAS_", "BLIS_", "VECLIB_"),
    *("DNNL_", "ONEDNN_", "NPY_", "NUMPY_", "NUMEXPR_", "SCIPY_", "PANDAS_", "PILLOW_", "HDF5_"),
    *("ABSL_", "GRPC_", "GCS_", "PROTOCOL_BUFFERS_", "WRAPT_", "GFORTRAN_", "OPENSSL_"),
    *("TEMPORARILY_DISABLE_PROTOBUF_VERSION_CHECK", "DISABLE_HOST_SEND_RECV_REGISTRATION"),
    *("TEST_TMPDIR", "TEST_SRCDIR", "TEST_RANDOM_SEED", "ENABLE_RUNTIME_UPTIME_TELEMETRY"),
    *("XDG_CACHE_HOME", "SOURCE_DATE_EPOCH", "PY_SAX_PARSER"),
)
# Read whenever a cluster is set up.
_READ_LATER = frozenset({"TF_CONFIG"})


def is_read_at_load(name: str) -> bool:
    """Tell whether a variable is of no effect once TensorFlow has been loaded."""
    return name not in _READ_LATER and name.startswith(_AT_LOAD)


def is_read_early(name: str) -> bool:
    """Tell whether a process must have been started with a variable for it to be of effect."""
    return is_read_at_load(name) or name.startswith(_AT_START)


@dataclass(frozen=True)
class Wanted:
    """A kind of waiting process: the interpreter, and every variable read at import."""

    executable: str
    packages: int  # changes when a package is installed or removed
    env: Mapping[str, str]

    @property
    def key(self) -> str:
        whole = [self.executable, self.packages, sorted(self.env.items())]
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:16]

    def dump(self) -> bytes:
        return json.dumps([self.executable, self.packages, dict(self.env)]).encode()

    @classmethod
    def load(cls, data: bytes) -> "Wanted":
        """Raises: ValueError when it is not what ``dump`` wrote."""
        match json.loads(data):
            case [str(executable), int(packages), dict(env)]:
                if all(isinstance(value, str) for value in env.values()):
                    return cls(executable, packages, env)
        raise ValueError("not the kind of a waiting process")


@contextlib.contextmanager
def address(folder: Path, key: str) -> Iterator[str]:
    """Give the address of a socket: by descriptor, since a path of it must be under 108 bytes."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{key}.sock"
    finally:
        os.close(handle)


def same_user(connection: socket.socket) -> bool:
    """Tell whether the process at the other end is one of ours: orders hold secrets."""
    size = struct.calcsize("3i")
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return bool(struct.unpack("3i", data)[1] == os.geteuid())


def send(connection: socket.socket, data: bytes, handles: Sequence[int] = ()) -> None:
    head = _LENGTH.pack(len(data))
    if handles:
        socket.send_fds(connection, [head], list(handles))
    else:
        connection.sendall(head)
    connection.sendall(data)


def tell(connection: socket.socket, **values: Any) -> None:
    send(connection, json.dumps(values).encode())


def receive(connection: socket.socket, handles: int = 0) -> tuple[bytes, list[int]]:
    """Return one message and its descriptors.

    Raises:
        EOFError: the other end hung up.
    """
    head, got, _, _ = socket.recv_fds(connection, _LENGTH.size, handles)
    head += _exactly(connection, _LENGTH.size - len(head)) if head else b""
    if not head:
        raise EOFError
    return _exactly(connection, _LENGTH.unpack(head)[0]), list(got)


def hear(connection: socket.socket) -> dict[str, Any]:
    """Return what was told; raises as :func:`receive`."""
    values: dict[str, Any] = json.loads(receive(connection)[0])
    return values


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = connection.recv(min(count - len(data), 1 << 16))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
