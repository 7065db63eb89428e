"""The warm pool: files and messages between agents and warm processes.

A warm process has TensorFlow loaded and waits for a script. The directory ``warm`` in
``DANLU_HOME`` exists only while a server keeps such processes. It contains:

    <key>.json   the environment variables to start a warm process with; written by each agent
                 that looks for one
    <key>.sock   the socket of the warm process, present once everything is loaded
    <key>.vain   the socket, renamed by an agent that timed out on it; other agents then do not
                 wait for it, and the server starts another process

An agent sends an order with two file descriptors (input, output). The answer is ``ready`` with two
process ids, or ``cold`` with a reason. After ``go`` the script runs. The last message is its wait
status. If the agent closes the connection before ``go``, no script is started.
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

# Variables read when Python starts. If a script sets one, only its child processes are affected.
_AT_START = (
    *("PYTHON", "_PYTHON", "LD_", "GLIBC_", "MALLOC_", "TCMALLOC_", "LC_", "LANG", "LANGUAGE"),
    "TZ",
)
# Variables read or cached while TensorFlow and its imports are loaded. They were found by tracing
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
# Variables read whenever a cluster is set up.
_READ_LATER = frozenset({"TF_CONFIG"})


def is_read_at_load(name: str) -> bool:
    """Return True if a variable has no effect once TensorFlow has been loaded."""
    return name not in _READ_LATER and name.startswith(_AT_LOAD)


def is_read_early(name: str) -> bool:
    """Return True if a variable has an effect only if the process was started with it."""
    return is_read_at_load(name) or name.startswith(_AT_START)


@dataclass(frozen=True)
class WarmProcessSpec:
    """The specification of a warm process: the interpreter and every variable read early."""

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
    def load(cls, data: bytes) -> "WarmProcessSpec":
        """Return the specification that :meth:`dump` wrote.

        Raises:
            ValueError: ``data`` is not a valid specification.
        """
        match json.loads(data):
            case [str(executable), int(packages), dict(env)]:
                if all(isinstance(value, str) for value in env.values()):
                    return cls(executable, packages, env)
        raise ValueError("not the kind of a waiting process")


@contextlib.contextmanager
def address(folder: Path, key: str) -> Iterator[str]:
    """Yield the address of a socket.

    The address uses a directory descriptor because a socket path must be shorter than 108 bytes.
    """
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{key}.sock"
    finally:
        os.close(handle)


def same_user(connection: socket.socket) -> bool:
    """Return True if the peer process runs as the same user. Orders contain secrets."""
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


def send_json(connection: socket.socket, **values: Any) -> None:
    send(connection, json.dumps(values).encode())


def receive(connection: socket.socket, handles: int = 0) -> tuple[bytes, list[int]]:
    """Return one message and its file descriptors.

    Raises:
        EOFError: the peer closed the connection.
    """
    head, got, _, _ = socket.recv_fds(connection, _LENGTH.size, handles)
    head += _exactly(connection, _LENGTH.size - len(head)) if head else b""
    if not head:
        raise EOFError
    return _exactly(connection, _LENGTH.unpack(head)[0]), list(got)


def receive_json(connection: socket.socket) -> dict[str, Any]:
    """Return one message as a JSON object. Raises as :func:`receive`."""
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
