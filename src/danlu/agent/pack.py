"""An output that is stored as one archive: packed when nobody writes any more."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from danlu.agent.pump import JobLog
from danlu.agent.workspace import remove
from danlu.errors import Refused, StorageError
from danlu.job.plan import Push

if TYPE_CHECKING:
    from tarfile import TarFile

log = logging.getLogger(__name__)


class Packer:
    """Packs each output once, however often its push is tried. ``scratch`` is the packer's own."""

    def __init__(self, scratch: Path, job_log: JobLog) -> None:
        self._scratch = scratch
        self._log = job_log
        self._packed: dict[Push, Path | None] = {}

    def folder(self, item: Push, source: Path, check: Callable[[], None]) -> Path | None:
        """Return a folder that holds the archive and nothing else; None where there is nothing.

        Raises:
            StorageError: a file cannot be read.
            OSError: the disk is full, for one.
        """
        if item not in self._packed:
            folder = self._scratch / item.what
            remove(folder)
            folder.mkdir(parents=True)
            # Beside the folder first: what is in it is whole.
            unfinished = self._scratch / f"{item.what}.unfinished"
            there = pack(source, unfinished, check)
            os.replace(unfinished, folder / item.pack)
            self._packed[item] = folder if there else None
            if not there:
                remove(folder)
                self._log.say(f"{item.what}: {item.path} is empty, so there is no {item.pack}")
        return self._packed[item]


def pack(source: Path, archive: Path, check: Callable[[], None]) -> int:
    """Write a .tar.gz of what is in ``source``; return how many files and empty folders.

    Equal files give equal bytes: names in order, no times, no owners. A link inside becomes the
    file it leads to, one that leads out is left out. ``check`` is called often and may raise.
    """
    import gzip
    import tarfile

    from danlu.storage.outputs import scan

    folder = os.path.realpath(source)
    found = scan(folder, warn=True)
    if found.refused:
        raise Refused(f"The output cannot be packed: {'; '.join(found.refused)}.")
    with (
        open(archive, "wb") as raw,
        # The lightest: weights hardly get smaller, and a job waits for this.
        gzip.GzipFile("", "wb", compresslevel=1, fileobj=raw, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as packed,
    ):
        for name in sorted([*found.files, *found.folders]):
            check()
            if name in found.files:
                _add(packed, folder, name, check)
            else:
                member = tarfile.TarInfo(name)
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                packed.addfile(member)
    log.info("packed source=%s files=%s", source, len(found.files))
    return len(found.files) + len(found.folders)


def _add(packed: "TarFile", folder: str, name: str, check: Callable[[], None]) -> None:
    import tarfile

    from danlu.storage.outputs import Output, Unsteady

    try:
        with Output(folder, name) as output:
            output.told = lambda _: check()
            member = tarfile.TarInfo(name)
            member.size = output.seen.size
            member.mode = 0o755 if os.access(os.path.join(folder, name), os.X_OK) else 0o644
            packed.addfile(member, output)
    except Unsteady as reason:
        raise StorageError(f"The output could not be packed: {reason}.") from None
