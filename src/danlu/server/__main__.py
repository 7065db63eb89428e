"""python -m danlu.server --home HOME [--tcp HOST:PORT]: the server process.

A starter gives ``--ready FD``: one line of JSON is written there, who serves or what went wrong.
"""

import argparse
import contextlib
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from danlu.errors import DanluError, PlatformError
from danlu.job.harmless import one_line
from danlu.settings import Settings, load

if TYPE_CHECKING:
    from danlu.service.build import Platform

# Seconds a thread may hold the others up. An answer takes a millisecond; who starts agents shall
# not wait for several of them.
_TURN = 0.0005


def main(
    argv: list[str] | None = None, build: "Callable[[Settings], Platform] | None" = None
) -> int:
    parser = argparse.ArgumentParser(prog="python -m danlu.server", description="Serve Danlu.")
    parser.add_argument("--home", help="the home directory (default: as set)")
    parser.add_argument("--tcp", metavar="HOST:PORT", help="listen there too; needs home/token")
    parser.add_argument("--ready", type=int, default=-1, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    starter = _Starter(args.ready)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a closed terminal is no reason to leave
    sys.setswitchinterval(_TURN)
    _log_to_stderr()
    try:
        from danlu.server.process import serve
        from danlu.server.sockets import parse_address

        settings = load({"home": args.home})
        tcp = parse_address(args.tcp) if args.tcp else None
        serve(settings, tcp, build or _build, lambda told: starter.tell(told.__dict__))
    except DanluError as error:
        return _fail(starter, error)
    except ModuleNotFoundError as error:
        missing = PlatformError(
            f"The server needs {error.name}, which is not installed.",
            hint="Install it with: pip install 'danlu[server]'",
        )
        return _fail(starter, missing)
    except OSError as error:
        logging.getLogger(__name__).exception("serve failed")
        return _fail(starter, PlatformError(f"The server cannot run: {error}."))
    return 0


def _fail(starter: "_Starter", error: DanluError) -> int:
    starter.tell({"error": error.to_wire()})
    print(f"danlu: {error}", file=sys.stderr)
    return error.exit_code


def _build(settings: Settings) -> "Platform":
    from danlu.service.build import build

    return build(settings)


class _Starter:
    def __init__(self, handle: int) -> None:
        self._handle = handle
        if handle >= 0:
            os.set_inheritable(handle, False)  # agents must not keep it open

    def tell(self, message: dict[str, Any]) -> None:
        if self._handle >= 0:
            with contextlib.suppress(BrokenPipeError):  # whoever started us did not wait
                os.write(self._handle, json.dumps(message).encode() + b"\n")
            os.close(self._handle)
            self._handle = -1


class _OneLine(logging.Formatter):
    """What people send is in some messages: none of it may look like a line of ours."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = one_line(record.message)
        return super().formatMessage(record)


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    formatter = _OneLine("%(asctime)sZ %(levelname)s %(name)s %(message)s")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for chatty in ("uvicorn", "alembic"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


if __name__ == "__main__":
    sys.exit(main())
