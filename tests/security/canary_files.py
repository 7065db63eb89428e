"""Files that the platform must not read or write, and a check whether it did."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from danlu.settings import Settings

CANARY = "canary-7f3a1c"


@dataclass
class Treasure:
    """``around``: a folder that must stay as it was, but for the folders in ``allowed``."""

    around: Path
    allowed: tuple[Path, ...]
    before: dict[str, str] = field(default_factory=dict)

    @classmethod
    def hide(cls, around: Path, settings: Settings) -> "Treasure":
        """Put canaries into the home, beside it, and beside the buckets."""
        home = settings.home
        for path in (
            around / "outside" / "secret.txt",
            around / "home-2" / "secret.txt",  # a sibling whose name begins like the home's
            home / "token",
            home / "secrets" / "other.json",
            home / "jobs" / "otherjob" / "plan.json",
            settings.store / "buckets" / "bucket-2" / "secret.txt",
            settings.store / "buckets-2" / "secret.txt",
            settings.store / "code" / "readme.txt",
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(CANARY)
        return cls(around, (settings.store / "buckets", settings.store / "code"))

    def look(self) -> None:
        """Remember how everything lies."""
        self.before = self._all()

    def changes(self) -> list[str]:
        """Return what has come, gone or changed outside of what is allowed, since the look."""
        now = self._all()
        names = {*now, *self.before}
        return sorted(name for name in names if now.get(name) != self.before.get(name))

    def _all(self) -> dict[str, str]:
        found = {}
        for folder, folders, files in os.walk(self.around):
            if Path(folder) in self.allowed:
                folders.clear()
            elif not Path(folder).name.startswith("danlu.db"):
                for name in files:
                    path = os.path.join(folder, name)
                    if not name.startswith("danlu.db"):
                        found[path] = _state(path)
                for name in folders:
                    found[os.path.join(folder, name)] = "folder"
        return found


def _state(path: str) -> str:
    if os.path.islink(path):
        return f"link to {os.readlink(path)}"
    if not os.path.isfile(path):
        return "neither file nor folder"
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
