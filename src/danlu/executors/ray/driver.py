"""``python -m danlu.executors.ray.driver FD``: the only server-side process that imports Ray.

It answers calls on the socket ``FD``, one line of JSON each, and exits when the other end closes.
It keeps no state: placement groups and actors have names and continue without it.
"""

import json
import logging
import os
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from danlu.errors import DanluError, ExecutorError, Unavailable
from danlu.executors.ray.cluster import Cluster, meaning_of

log = logging.getLogger("danlu.ray")

_AT_ONCE = 16
CALLS = frozenset({"nodes", "reserve", "begin", "states", "signal", "finish", "release", "held"})


class Answering:
    """Executes calls and sends the results."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire = wire
        self._sending = threading.Lock()
        self._cluster: Cluster | None = None

    def answer(self, asked: dict[str, Any]) -> None:
        try:
            reply = {"answer": self._do(asked["call"], asked["with"])}
        except DanluError as error:
            reply = {"error": error.to_wire()}
        except Exception as error:
            # Without the arguments of the call, which may contain a secret.
            log.exception("call failed call=%s", asked["call"])
            reply = {"error": Unavailable(meaning_of(error)).to_wire()}
        data = json.dumps({"id": asked["id"], **reply}).encode() + b"\n"
        with self._sending:
            self._wire.sendall(data)

    def _do(self, name: str, arguments: dict[str, Any]) -> Any:
        if name == "connect":
            self._cluster = Cluster(arguments["scope"])
            return self._cluster.connect(arguments["address"])
        if name not in CALLS or self._cluster is None:
            raise ExecutorError.from_key("ray.no_call", name=name)
        return getattr(self._cluster, name)(**arguments)


def main(handle: int) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    os.set_inheritable(handle, False)
    wire = socket.socket(fileno=handle)
    answering = Answering(wire)
    pool = ThreadPoolExecutor(_AT_ONCE)
    with wire.makefile("rb") as lines:
        for line in lines:
            asked = json.loads(line)
            if asked["call"] == "connect":  # Ray installs signal handlers in the main thread only.
                _answer_or_leave(answering, asked)
            else:
                pool.submit(_answer_or_leave, answering, asked)
    # The server is gone. The shutdown of Ray takes seconds and is not needed: all state has a name.
    os._exit(0)


def _answer_or_leave(answering: Answering, asked: dict[str, Any]) -> None:
    try:
        answering.answer(asked)
    except OSError:
        os._exit(0)  # The server is gone.


if __name__ == "__main__":
    main(int(sys.argv[1]))
