"""Methods and arguments Python's own library has lost since 3.8."""

from __future__ import annotations

from danlu_runtime.old.names import mapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def restore_threading(threading: Any) -> None:
    """``Thread.isAlive`` left Python with 3.9."""
    if hasattr(threading.Thread, "isAlive"):
        return

    def is_alive(self: Any) -> bool:
        mapped("Thread.isAlive read as Thread.is_alive")
        return bool(self.is_alive())

    threading.Thread.isAlive = is_alive


def restore_json(json: Any) -> None:
    """``encoding=`` said nothing since Python 3.1, and is refused since 3.9."""
    # json.load calls json.loads by its name in the module: it needs nothing of its own.
    for name in ("loads", "dumps", "dump"):
        setattr(json, name, _without_encoding(getattr(json, name), name))


def _without_encoding(real: Callable[..., Any], name: str) -> Callable[..., Any]:
    import functools

    @functools.wraps(real)
    def call(*args: Any, **options: Any) -> Any:
        # A class of the script's own may have an argument of that name.
        if "encoding" in options and options.get("cls") is None:
            mapped(f"json.{name}(encoding=…) read without it")
            del options["encoding"]
        return real(*args, **options)

    return call


def restore_random(random: Any) -> None:
    """``random.sample`` of a set is refused since Python 3.11."""
    real = random.Random.sample

    def sample(self: Any, population: Any, k: int, **options: Any) -> Any:
        from collections.abc import Sequence, Set

        if isinstance(population, Set) and not isinstance(population, Sequence):
            mapped("random.sample of a set read as random.sample of a tuple")
            population = tuple(population)
        return real(self, population, k, **options)

    random.Random.sample = sample
    random.sample = random._inst.sample
