"""Takes outputs to their store while the script runs, and completes them when it has ended.

An output to be packed waits for the end: half an archive is of no use to anybody.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from danlu.agent.ending import Ending, Interrupted
from danlu.agent.pack import Packer
from danlu.agent.pump import JobLog
from danlu.agent.report import Reporter
from danlu.errors import DanluError, Refused
from danlu.job.plan import Push

if TYPE_CHECKING:
    from danlu.storage.locate import Stores
    from danlu.storage.manifest import Manifest

log = logging.getLogger(__name__)

_SLOWEST = 60.0  # seconds between two tries of a mirror that fails
_PAUSE, _LONGEST_PAUSE = 1.0, 30.0  # between two tries of the last push
_CLOSING = 10.0  # seconds for a push that waits for its store when the thread shall end


class Mirror:
    """One thread mirrors at a time: the one in here until :meth:`complete`, then the caller's."""

    def __init__(
        self,
        stores: "Stores",
        outputs: Mapping[Push, Path],
        known: "dict[str, Manifest]",
        ending: Ending,
        report: Reporter,
        job_log: JobLog,
        *,
        interval: float,
        scratch: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stores = stores
        self._outputs = outputs
        self._known = known
        self._ending = ending
        self._report = report
        self._log = job_log
        self._interval = interval
        self._packer = Packer(scratch, job_log)
        self._clock = clock
        self._deadline = math.inf
        stores.limit(self._left)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)

    def start(self) -> None:
        if any(not item.pack for item in self._outputs):
            self._thread.start()

    def close(self) -> None:
        """End the thread; a push it is in is finished first, but for one whose store is down."""
        self._closed.set()
        self._deadline = self._clock() + _CLOSING
        if self._thread.ident is not None:
            self._thread.join()

    def complete(self, budget: float) -> None:
        """Push what is left and verify it, again and again for ``budget`` seconds.

        Raises:
            Interrupted: the task shall not write any more.
            Refused: all is stored but what the store can never keep.
            DanluError, OSError: it could not be done; the last error.
        """
        self.close()
        # The store's own patience is longer: what is tried again here must not be tried there.
        deadline = self._deadline = self._clock() + budget
        pause = _PAUSE
        while True:
            try:
                self._push_all(final=True)
                return
            except Refused:
                raise  # no further try could make a name another one
            except (DanluError, OSError) as error:
                if self._clock() + pause > deadline:
                    raise
                log.warning("push failed, trying again in=%.0f error=%s", pause, error)
                self._log.say(f"outputs could not be stored, trying again: {error}")
            self._pause(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    @property
    def pushed(self) -> tuple[int, int]:
        """Number and bytes of the files that are stored."""
        known = self._known.values()
        return sum(len(manifest.files) for manifest in known), sum(m.size for m in known)

    def _run(self) -> None:
        interval, failing = self._interval, False
        while not self._closed.wait(interval):
            try:
                self._push_all(final=False)
                interval, failing = self._interval, False
            except Interrupted:
                return
            except (DanluError, OSError) as error:
                if not failing:
                    self._log.say(f"outputs are not mirrored at the moment: {error}")
                log.warning("mirror failed error=%s", error)
                interval, failing = min(interval * 2, max(_SLOWEST, self._interval)), True

    def _push_all(self, *, final: bool) -> None:
        from danlu.storage.trees import push

        for item, source in self._outputs.items():
            folder = self._packed(item, source, final) if item.pack else source
            if folder is None:
                continue
            progress = self._report.transfer(item.what, self._check)
            self._known[item.what] = push(
                folder,
                self._stores.at(item.uri),
                self._known.get(item.what),
                progress,
                final=final,
            )

    def _packed(self, item: Push, source: Path, final: bool) -> Path | None:
        return self._packer.folder(item, source, self._check) if final else None

    def _left(self) -> float:
        """Return for how many seconds a store that does not answer may be waited for."""
        self._check()
        return self._deadline - self._clock()

    def _check(self) -> None:
        wish = self._ending.wish
        if wish is not None and wish.why.silent:
            raise Interrupted

    def _pause(self, seconds: float) -> None:
        until = self._clock() + seconds
        while (left := until - self._clock()) > 0:
            self._check()
            self._ending.wait(left)
        self._check()
