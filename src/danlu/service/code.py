"""Code that was uploaded: archives named by what is in them, kept once."""

import hashlib
import re
import tempfile
from typing import BinaryIO

from danlu.errors import Refused
from danlu.storage.archive import Limits, check
from danlu.storage.locate import Location, Stores

_DIGEST = re.compile(r"[0-9a-f]{64}")
_BLOCK = 1 << 20


class CodeArchives:
    def __init__(self, stores: Stores, limits: Limits) -> None:
        self._stores = stores
        self._limits = limits

    def uri(self, digest: str) -> str:
        if not _DIGEST.fullmatch(digest):
            raise Refused(f"A code archive is named by its SHA-256, got {digest!r}.")
        return f"danlu://code/{digest}.tar.gz"

    def known(self, digest: str) -> bool:
        location = self._at(digest)
        return location.storage.stat(location.key) is not None

    def accept(self, digest: str, stream: BinaryIO) -> str:
        """Keep an archive and return its URI.

        Raises:
            Refused: it is broken, too large, holds what may not be unpacked, or is not what its
                name says. Nothing was kept.
        """
        location = self._at(digest)
        with tempfile.TemporaryFile() as file:
            found = self._copy(stream, file)
            if found != digest:
                raise Refused(f"The archive's SHA-256 is {found}, not {digest}: it was damaged.")
            file.seek(0)
            check(file, self._limits)
            file.seek(0)
            location.storage.write(location.key, file)
        return self.uri(digest)

    def _copy(self, stream: BinaryIO, to: BinaryIO) -> str:
        digest, total = hashlib.sha256(), 0
        while block := stream.read(_BLOCK):
            total += len(block)
            if total > self._limits.total:
                limit = self._limits.total >> 20
                raise Refused(
                    f"The code archive is larger than the limit of {limit} MiB.",
                    hint="Keep data out of the code directory, or raise code_limit.",
                )
            digest.update(block)
            to.write(block)
        return digest.hexdigest()

    def _at(self, digest: str) -> Location:
        return self._stores.at(self.uri(digest))
