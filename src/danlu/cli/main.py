"""Entry point of the command line ``danlu``."""

import contextlib
import gc
from collections.abc import Iterator, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from danlu.cli.session import Connect

_OBJECTS = 50_000  # more than the modules of one command allocate


def main(args: Sequence[str] | None = None, connect: "Connect | None" = None) -> int:
    """Run one command and return its exit code."""
    with _few_collections():
        from danlu.cli.app import run

        return run(args, connect)


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Run the garbage collector less often.

    Imported modules are never freed. Scanning them repeatedly takes a tenth of the time of a
    short command.
    """
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
