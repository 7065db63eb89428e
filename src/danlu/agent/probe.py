"""What the kernel allows at a folder, found out by doing it."""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from danlu.agent.root import Overlay, Root
from danlu.agent.sandbox import change_root
from danlu.agent.workspace import remove


def main(argv: Sequence[str]) -> int:
    if len(argv) != 2 or argv[0] != "--probe":
        print("usage: python -m danlu.agent.sandbox --probe FOLDER", file=sys.stderr)
        return 2
    namespace, overlay = probe(Path(argv[1]))
    print(json.dumps({"namespace": namespace, "overlay": overlay}))
    return 0


def probe(folder: Path) -> tuple[str, bool]:
    """Return the best namespace that works on the file system of ``folder``, and overlays there."""
    folder.mkdir(parents=True, exist_ok=True)
    for namespace in ("root", "user"):
        for overlay in (True, False):
            if _works(folder.resolve(), namespace, overlay):
                return namespace, overlay
    return "none", False


def _works(folder: Path, namespace: str, overlay: bool) -> bool:
    scratch = Path(tempfile.mkdtemp(prefix=".probe-", dir=folder))
    try:
        pid = os.fork()
        if pid == 0:
            try:
                _try(scratch, namespace, overlay)
                os._exit(0)
            except OSError as error:
                print(f"{namespace}, overlay {overlay}: {error}", file=sys.stderr, flush=True)
            finally:
                os._exit(1)
        return os.waitpid(pid, 0)[1] == 0
    finally:
        remove(scratch)


def _try(scratch: Path, namespace: str, overlay: bool) -> None:
    names = ("root", "cache", "lower", "upper", "work", "box")
    root, cache, lower, upper, work, box = (scratch / name for name in names)
    for path in (root, cache, lower, upper, work, box):
        path.mkdir()
    (cache / "own").touch()
    (lower / "old").write_text("old")
    (lower / "old").chmod(0o444)
    lower.chmod(0o555)
    layer = Overlay(str(lower), str(upper), str(work), "/cache/tree")
    change_root(
        namespace,
        Root(
            folder=str(root),
            private=[(str(cache), "/cache")],
            overlays=[layer] if overlay else [],
            outputs=[],
            hidden=[str(scratch)],
            kept=[],
            box=str(box),
        ),
    )
    if not os.path.exists("/cache/own") or os.listdir(scratch) != ["box"]:
        raise OSError("the new root is not the one that was built")
    if overlay:
        Path("/cache/tree/new").write_text("new")
        Path("/cache/tree/old").write_text("changed")
        os.unlink("/cache/tree/old")
