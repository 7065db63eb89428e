"""The single things in what is fetched, and their values in what comes back.

``Session.run`` takes them alone, in lists, tuples and dictionaries, one inside the other, and
returns values in the same form.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any


def single(fetches: Any) -> Iterator[Any]:
    """Yield the single fetches in order."""
    if isinstance(fetches, list | tuple):
        for fetch in fetches:
            yield from single(fetch)
    elif isinstance(fetches, Mapping):
        for fetch in fetches.values():
            yield from single(fetch)
    else:
        yield fetches


def pairs(fetches: Any, values: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each single fetch with its value."""
    if isinstance(fetches, list | tuple):
        for fetch, value in zip(fetches, values, strict=True):
            yield from pairs(fetch, value)
    elif isinstance(fetches, Mapping):
        for key, fetch in fetches.items():
            yield from pairs(fetch, values[key])
    else:
        yield fetches, values


def form(fetches: Any, value: Callable[[Any], Any]) -> Any:
    """Return what a run would: the value of each single fetch, in the form of ``fetches``."""
    if isinstance(fetches, tuple) and hasattr(fetches, "_make"):
        return fetches._make(form(fetch, value) for fetch in fetches)
    if isinstance(fetches, list | tuple):
        formed = [form(fetch, value) for fetch in fetches]
        return formed if isinstance(fetches, list) else tuple(formed)
    if isinstance(fetches, Mapping):
        return {key: form(fetch, value) for key, fetch in fetches.items()}
    return value(fetches)
