"""What tests of a failing S3 share: a clock of their own, and faults to hand."""

from collections.abc import Callable
from dataclasses import dataclass, field

from contracts.s3_server import Fault, Reply, Request, Reset, Silence, SmallS3, error
from danlu.storage.s3.bucket import S3RetryPolicy
from danlu.storage.s3.upload import PART

BIG = bytes(range(256)) * (5 * PART // 256) + b"the end"  # of six parts
KEYS = ["a", "odd//a"]
DATE = "Thu, 01 Jan 2026 00:00:00 GMT"


@dataclass
class Clock:
    """Time that advances with each wait."""

    now: float = 0.0
    waits: list[float] = field(default_factory=list)

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    @property
    def retry(self) -> S3RetryPolicy:
        return S3RetryPolicy(clock=lambda: self.now, sleep=self.wait)


def first(count: int, happens: Fault, when: Callable[[Request], bool] = lambda _: True) -> Fault:
    """A fault of the first ``count`` requests for which ``when`` holds."""
    left = [count]

    def ask(request: Request) -> Reply | None:
        if not when(request) or not left[0]:
            return None
        left[0] -= 1
        return happens(request)

    return ask


def reset(_: Request) -> Reply:
    raise Reset


def silence(_: Request) -> Reply:
    raise Silence


def busy(_: Request) -> Reply:
    return error(503, "SlowDown")


def broken(_: Request) -> Reply:
    return Reply(500, b"<html>proxy error</html>")


def completes(request: Request) -> bool:
    """Whether this is the request that makes an object of its parts."""
    return request.method == "POST" and "uploadId" in request.query


def lose(service: SmallS3, when: Callable[[Request], bool]) -> None:
    """Let the answer to the first such request get lost; what it asked for is done."""
    lost: list[Request] = []

    def happens(request: Request) -> None:
        if when(request) and not lost:
            lost.append(request)
            raise Reset

    service.after = [happens]
