"""Starting the server process, and hearing from it whether it serves."""

import json
import os
import select
import subprocess
import sys
import threading
import time
from typing import Any

from danlu.client.errors import error_of
from danlu.errors import PlatformError, Unavailable
from danlu.settings import Settings

_START_PATIENCE = 60.0
_LOG_LIMIT = 10 << 20
# What belongs to one task, or to a client of a server elsewhere, is not the server's.
_NOT_FOR_SERVERS = (
    "DANLU_TASK",
    "DANLU_JOB_ID",
    "DANLU_JOB_NAME",
    "DANLU_ATTEMPT",
    "DANLU_BOX",
    "DANLU_SERVER",
    "DANLU_TOKEN",
)


def command(settings: Settings) -> list[str]:
    return [sys.executable, "-m", "danlu.server", "--home", str(settings.home)]


def spawn(settings: Settings, tcp: str) -> dict[str, Any]:
    """Start a server that outlives this process; return what it told when it was ready.

    Raises:
        DanluError: what the server itself had to say.
        Unavailable: it ended, or took too long, without a word.
    """
    heard, told = os.pipe()
    try:
        arguments = [*command(settings), "--ready", str(told), *(["--tcp", tcp] if tcp else [])]
        process = _start(settings, arguments, told)
    finally:
        os.close(told)
    try:
        message = _hear(heard, time.monotonic() + _START_PATIENCE)
    finally:
        os.close(heard)
    # Reaped whenever it ends, so that a long-lived client keeps no zombie.
    threading.Thread(target=process.wait, name="server", daemon=True).start()
    if message is None:
        raise _no_word(settings, process)
    if "error" in message:
        raise error_of(500, message)
    return message


def _no_word(settings: Settings, process: "subprocess.Popen[bytes]") -> PlatformError:
    hint = f"Its log says why: {settings.home / 'server.log'}"
    try:
        code = process.wait(1)
    except subprocess.TimeoutExpired:
        return Unavailable(f"The server takes longer than {_START_PATIENCE:g} s.", hint=hint)
    if code < 0:  # ended from outside: another try may go well
        return Unavailable(f"The server was killed while it started (signal {-code}).", hint=hint)
    return PlatformError(f"The server did not start (exit code {code}).", hint=hint)


def _start(settings: Settings, arguments: list[str], told: int) -> "subprocess.Popen[bytes]":
    log = settings.home / "server.log"
    if log.exists() and log.stat().st_size > _LOG_LIMIT:
        os.replace(log, log.with_name("server.log.1"))
    environment = {k: v for k, v in os.environ.items() if k not in _NOT_FOR_SERVERS}
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            arguments,
            cwd="/",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            pass_fds=(told,),
            start_new_session=True,
        )
    finally:
        os.close(handle)


def _hear(handle: int, until: float) -> dict[str, Any] | None:
    data = b""
    while not data.endswith(b"\n"):
        ready, _, _ = select.select([handle], [], [], max(0.0, until - time.monotonic()))
        piece = os.read(handle, 65_536) if ready else b""
        if not piece:
            return None
        data += piece
    message: dict[str, Any] = json.loads(data)
    return message
