"""Methods and arguments that Python's standard library has lost since 3.8, by module."""

from __future__ import annotations

from danlu.messages import get_message
from danlu_runtime.old import stdlib
from danlu_runtime.old.names import mapped, read_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def restore_threading(threading: Any) -> None:
    """Add ``Thread.isAlive``, removed in Python 3.9."""
    if hasattr(threading.Thread, "isAlive"):
        return

    def is_alive(self: Any) -> bool:
        mapped(read_as("Thread.isAlive", "Thread.is_alive"))
        return bool(self.is_alive())

    threading.Thread.isAlive = is_alive


def restore_configparser(configparser: Any) -> None:
    """Add ``SafeConfigParser`` and ``readfp``, removed in Python 3.12."""
    stdlib.restore(configparser)
    if hasattr(configparser.RawConfigParser, "readfp"):
        return

    def readfp(self: Any, fp: Any, filename: Any = None) -> None:
        mapped(read_as("ConfigParser.readfp", "ConfigParser.read_file"))
        self.read_file(fp, source=filename)

    configparser.RawConfigParser.readfp = readfp


def restore_html_parser(parser: Any) -> None:
    """Add ``HTMLParser.unescape``, removed in Python 3.9."""

    def unescape(self: Any, s: str) -> str:
        import html

        mapped(read_as("HTMLParser.unescape", "html.unescape"))
        return html.unescape(s)

    parser.HTMLParser.unescape = unescape


def restore_typing(typing: Any) -> None:
    """Add ``typing.io`` and ``typing.re``, which could be imported before Python 3.13."""
    import sys

    stdlib.restore(typing)
    for name in ("typing.io", "typing.re"):
        sys.modules.setdefault(name, typing)


def restore_json(json: Any) -> None:
    """Ignore ``encoding=``, which had no effect since Python 3.1 and is rejected since 3.9."""
    # json.load calls json.loads through the module and needs no patch.
    for name in ("loads", "dumps", "dump"):
        setattr(json, name, _without_encoding(getattr(json, name), name))


def _without_encoding(real: Callable[..., Any], name: str) -> Callable[..., Any]:
    import functools

    @functools.wraps(real)
    def call(*args: Any, **options: Any) -> Any:
        # A JSON class of the script may have an argument of that name.
        if "encoding" in options and options.get("cls") is None:
            mapped(get_message("old.json_encoding", name=name))
            del options["encoding"]
        return real(*args, **options)

    return call


def restore_random(random: Any) -> None:
    """Accept ``random.sample`` of a set and ``random.shuffle`` with a function, as before 3.11."""
    real, real_shuffle = random.Random.sample, random.Random.shuffle

    def sample(self: Any, population: Any, k: int, **options: Any) -> Any:
        from collections.abc import Sequence, Set

        if isinstance(population, Set) and not isinstance(population, Sequence):
            mapped(get_message("old.random_sample"))
            population = tuple(population)
        return real(self, population, k, **options)

    def shuffle(self: Any, x: Any, random: Any = None) -> None:
        if random is None:
            return real_shuffle(self, x)
        mapped(get_message("old.random_shuffle"))
        for last in range(len(x) - 1, 0, -1):
            other = int(random() * (last + 1))
            x[last], x[other] = x[other], x[last]

    random.Random.sample, random.Random.shuffle = sample, shuffle
    random.sample, random.shuffle = random._inst.sample, random._inst.shuffle
