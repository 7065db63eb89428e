"""The place of one object in its folder.

In a bucket a folder may take the place of an object (``a`` and ``a/b`` are two objects). The
object then stands aside under a spare name. Readers look at the place first, then at the spare
name, and an object moves there before it leaves its place: there is no moment without it.
Callers hold the lock of the bucket: shared to replace, exclusive for all else.
"""

import contextlib
import os
import stat
from dataclasses import dataclass

from danlu.storage.names import OBJECT, temporary


@dataclass(frozen=True)
class Slot:
    """``folder`` is an open descriptor; without ``spare`` a folder in the way is an error."""

    folder: int
    name: str
    spare: bool

    def replace(self, unfinished: str) -> None:
        """Give the object the bytes of a file of this folder, which is gone then."""
        try:
            self._rename(unfinished, self.name)
        except IsADirectoryError:
            if not self.spare:
                raise
            self._rename(unfinished, self.name + OBJECT)

    def link(self, unfinished: str) -> bool:
        """Give the bytes to an object that is not there yet; False where it is."""
        if self.spare and self._is_file(self.name + OBJECT):
            return False
        for name in (self.name, self.name + OBJECT) if self.spare else (self.name,):
            try:
                os.link(unfinished, name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
                return True
            except FileExistsError:
                if self._is_file(name):
                    return False
        raise IsADirectoryError(self.name)

    def unlink(self) -> None:
        # The spare first: it may be older than what is in place, and must not outlive it.
        for name in (self.name + OBJECT, self.name) if self.spare else (self.name,):
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(name, dir_fd=self.folder)

    def move_aside(self) -> None:
        """Leave the place to a folder; the object can be read at every moment."""
        if not self._is_file(self.name):
            return  # somebody else was faster
        between = temporary(os.urandom(6).hex())
        os.link(self.name, between, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        self._rename(between, self.name + OBJECT)
        os.unlink(self.name, dir_fd=self.folder)

    def _rename(self, source: str, target: str) -> None:
        os.rename(source, target, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def _is_file(self, name: str) -> bool:
        try:
            status = os.stat(name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return not stat.S_ISDIR(status.st_mode)
