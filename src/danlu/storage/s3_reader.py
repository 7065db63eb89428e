"""An object as a file to read: by blocks, the next ones fetched while this one is used."""

import io
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

BLOCK = 8 << 20
AHEAD = 3  # blocks on their way while the reader goes on from one to the next

Fetch = Callable[[int, int], bytes]  # from, to (exclusive): exactly these bytes


class ObjectReader(io.RawIOBase):
    """Reads what ``fetch`` gives; ``first`` are the bytes at the beginning, read already.

    Not for several threads at once, as no file object is. A copy of it in a forked process may
    be read too.
    """

    def __init__(self, fetch: Fetch, size: int, first: bytes, block: int = BLOCK) -> None:
        super().__init__()
        self._fetch = fetch
        self._size = size
        self._block = block
        self._at = 0
        self._number, self._data = 0, first
        self._pool: ThreadPoolExecutor | None = None
        self._coming: dict[int, Future[bytes]] = {}
        self._pid = os.getpid()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative seek position {base + offset}")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self._piece(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        pieces = []
        while piece := self._piece(self._block):
            pieces.append(bytes(piece))
        return b"".join(pieces)

    def close(self) -> None:
        if not self.closed:
            self._drop()
            self._data = b""
        super().close()

    def _piece(self, most: int) -> memoryview:
        """Return bytes at the current position, up to the end of their block, and pass them."""
        if self._at >= self._size:
            return memoryview(b"")
        number, start = divmod(self._at, self._block)
        if number != self._number:
            self._data, self._number = self._get(number), number
        piece = memoryview(self._data)[start : start + most]
        self._at += len(piece)
        return piece

    def _get(self, number: int) -> bytes:
        if self._pid != os.getpid():
            # The threads that fetch stayed in the other process.
            self._pool, self._coming, self._pid = None, {}, os.getpid()
        onward = number == self._number + 1
        if number not in self._coming:
            self._drop()
        coming = self._coming.pop(number, None)
        if onward:
            self._look_ahead(number)
        return coming.result() if coming else self._fetch(*self._range(number))

    def _look_ahead(self, number: int) -> None:
        last = (self._size - 1) // self._block
        for following in range(number + 1, min(number + AHEAD, last) + 1):
            if following not in self._coming:
                self._pool = self._pool or ThreadPoolExecutor(AHEAD, "danlu-read")
                self._coming[following] = self._pool.submit(self._fetch, *self._range(following))

    def _range(self, number: int) -> tuple[int, int]:
        return number * self._block, min((number + 1) * self._block, self._size)

    def _drop(self) -> None:
        """Forget what was fetched ahead."""
        self._coming = {}
        if self._pool and self._pid == os.getpid():
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None
