"""Entry point of the server process: ``python -m danlu.server --home HOME [--tcp HOST:PORT]``.

The starting process passes ``--ready FD``. The server writes one line of JSON there, with its
``ServerInfo`` or with the error that prevented the start.
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

from danlu import messages
from danlu.errors import DanluError, PlatformError
from danlu.messages.text import one_line
from danlu.settings import Settings, load

if TYPE_CHECKING:
    from danlu.service.platform import Platform

# Seconds a thread may keep the interpreter. A response takes about a millisecond. The thread that
# starts agents must not wait for several of them.
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
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # keep running when the terminal is closed
    sys.setswitchinterval(_TURN)
    _log_to_stderr()
    try:
        from danlu.server.listen import parse_address
        from danlu.server.process import serve

        settings = load({"home": args.home})
        messages.use(settings.lang)
        tcp = parse_address(args.tcp) if args.tcp else None
        serve(settings, tcp, build or _build, lambda info: starter.send(info.__dict__))
    except DanluError as error:
        return _fail(starter, error)
    except ModuleNotFoundError as error:
        missing = PlatformError.from_key("server.missing_package", name=error.name)
        return _fail(starter, missing)
    except OSError as error:
        logging.getLogger(__name__).exception("serve failed")
        return _fail(starter, PlatformError.from_key("server.cannot_run", error=error))
    return 0


def _fail(starter: "_Starter", error: DanluError) -> int:
    starter.send({"error": error.to_wire()})
    print(f"danlu: {error}", file=sys.stderr)
    return error.exit_code


def _build(settings: Settings) -> "Platform":
    from danlu.service.platform import build

    return build(settings)


class _Starter:
    """The pipe to the process that started the server; a negative handle means there is none."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        if handle >= 0:
            os.set_inheritable(handle, False)  # agents must not inherit it

    def send(self, message: dict[str, Any]) -> None:
        if self._handle >= 0:
            with contextlib.suppress(BrokenPipeError):  # the starting process did not wait
                os.write(self._handle, json.dumps(message).encode() + b"\n")
            os.close(self._handle)
            self._handle = -1


class _OneLine(logging.Formatter):
    """A formatter that escapes line breaks in messages.

    Messages may contain text from requests, which must not look like a separate log line.
    """

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
