"""Trying again for minutes: a service that is down for five must cost nobody a training."""

import logging
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from danlu.storage.s3_faults import Passing

log = logging.getLogger(__name__)
T = TypeVar("T")

_FIRST, _LONGEST = 0.2, 15.0  # seconds between two tries


@dataclass(frozen=True)
class Patience:
    """``seconds``: how long one request is tried again before its fault is believed.

    ``limit`` is asked before each further try how many seconds are left for everything; it may
    raise to end the wait.
    """

    seconds: float = 900.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    limit: Callable[[], float] = lambda: math.inf

    def __call__(self, ask: Callable[[], T], of: str) -> T:
        """Return what ``ask`` returns; ``of`` names the service to people who wait.

        Raises:
            Passing: it was in the way for all that time.
        """
        since: float | None = None
        pause = _FIRST
        while True:
            try:
                return ask()
            except Passing as fault:
                now = self.clock()
                since = now if since is None else since
                left = min(self.seconds - (now - since), self.limit())
                if left <= 0:
                    raise
                if pause >= _FIRST * 8 and pause < _FIRST * 16:  # not for a hiccup
                    log.warning("%s does not answer (%s); trying on for %.0f s", of, fault, left)
                # Many tasks lose the service at once; they must not come back at once.
                self.sleep(min(pause * random.uniform(0.75, 1.25), left))
                pause = min(pause * 2, _LONGEST)
