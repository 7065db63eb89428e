"""Probes which namespaces and overlays the kernel allows in a folder, by trying them.

A feature is "not allowed" only if the kernel refused it. A full disk, too little memory or too many
open files are errors. The probe fails then, and its caller retries later.
"""

import contextlib
import errno
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from danlu.sandbox import kernel
from danlu.sandbox.entry import change_root
from danlu.sandbox.root import Overlay, Root
from danlu.storage.folders import remove_tree

_WORKS, _REFUSED, _FAILED = 0, 1, 2  # exit codes of the process that tries
_MAX_ERROR = 1000


def main(argv: Sequence[str]) -> int:
    if len(argv) != 2 or argv[0] != "--probe":
        print("usage: python -m danlu.sandbox.entry --probe FOLDER", file=sys.stderr)
        return 2
    try:
        namespace, overlay = probe(Path(argv[1]))
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps({"namespace": namespace, "overlay": overlay}))
    return 0


def probe(folder: Path) -> tuple[str, bool]:
    """Return the best namespace that works on the file system of ``folder``, and overlay support.

    Raises:
        OSError: it could not be tried.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for namespace in ("root", "user"):
        for overlay in (True, False):
            if _works(folder.resolve(), namespace, overlay):
                return namespace, overlay
    return "none", False


def _works(folder: Path, namespace: str, overlay: bool) -> bool:
    scratch = Path(tempfile.mkdtemp(prefix=".probe-", dir=folder))
    try:
        return _tried(_create_root(scratch, overlay), scratch, namespace)
    finally:
        with contextlib.suppress(OSError):
            remove_tree(scratch)


def _tried(root: Root, scratch: Path, namespace: str) -> bool:
    """Return True if the kernel lets a process change to this root. A child process tries it."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _try(root, scratch, namespace)
            os._exit(_WORKS)
        except OSError as error:
            error_text = f"{namespace}, overlay {bool(root.overlays)}: {error}"
            os.write(writing, error_text.encode(errors="replace")[:_MAX_ERROR])
            os._exit(_REFUSED if kernel.is_refusal(error) else _FAILED)
        finally:
            os._exit(_FAILED)
    os.close(writing)
    with open(reading, "rb") as pipe:
        error_text = pipe.read().decode(errors="replace")
    status = os.waitpid(pid, 0)[1]
    if status == 0:
        return True
    if not (os.WIFEXITED(status) and os.WEXITSTATUS(status) == _REFUSED):
        raise OSError(
            error_text or f"{namespace}: the process that tried it ended with status {status}"
        )
    print(error_text, file=sys.stderr)
    return False


def _create_root(scratch: Path, overlay: bool) -> Root:
    """Create the directories of a small root. An error here is not a refusal of the kernel."""
    names = ("root", "cache", "lower", "upper", "work", "box")
    root, cache, lower, upper, work, box = (scratch / name for name in names)
    for path in (root, cache, lower, upper, work, box):
        path.mkdir()
    (cache / "own").touch()
    (lower / "old").write_text("old")
    (lower / "old").chmod(0o444)
    lower.chmod(0o555)
    layer = Overlay(str(lower), str(upper), str(work), "/cache/tree")
    return Root(
        folder=str(root),
        private=[(str(cache), "/cache")],
        overlays=[layer] if overlay else [],
        outputs=[],
        hidden=[str(scratch)],
        kept=[],
        box=str(box),
    )


def _try(root: Root, scratch: Path, namespace: str) -> None:
    change_root(namespace, root)
    if not os.path.exists("/cache/own") or os.listdir(scratch) != ["box"]:
        raise OSError(errno.ENOSYS, "the new root is not the one that was built")
    if root.overlays:
        Path("/cache/tree/new").write_text("new")
        Path("/cache/tree/old").write_text("changed")
        os.unlink("/cache/tree/old")
