"""The door of the command line: ``danlu`` begins here."""

import contextlib
import gc
from collections.abc import Iterator, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.session import Connect

_OBJECTS = 50_000  # more than all the modules of a command make


def main(args: Sequence[str] | None = None, connect: "Connect | None" = None) -> int:
    """Run one command and return its exit code."""
    with _few_collections():
        from danlu.cli.app import run

        return run(args, connect)


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Look for garbage less often: what is imported stays, and to look at all of it again and
    again is a tenth of the time of a short command."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
