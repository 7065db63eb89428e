"""Takes the results of a loop where those of the single step are asked for."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.steps.fetches import form, single


class Substitute:
    """Which result of a loop stands for which tensor of the step."""

    def __init__(self, step: Any, by: tf.Operation) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}
        self._step = step
        self.add(step, by)

    def add(self, element: Any, by: Any) -> None:
        self._known[id(element)] = (element, by)  # kept too: its id is its own as long as it lives

    def knows(self, element: Any) -> bool:
        return id(element) in self._known

    @contextmanager
    def put_into(self, session: Any, feeds: Mapping[Any, Any]) -> Iterator[None]:
        """Let the next step of a session be the loop's; whatever else it runs is as ever."""
        run = session.run

        def substituted(fetches: Any, feed_dict: Any = None, *args: Any, **kwargs: Any) -> Any:
            elements = list(single(fetches))
            if not any(each is self._step for each in elements):
                return run(fetches, feed_dict, *args, **kwargs)
            wanted = {id(each): self._known[id(each)][1] for each in elements}
            values = run(list(wanted.values()), {**(feed_dict or {}), **feeds}, *args, **kwargs)
            found = dict(zip(wanted, values, strict=True))
            return form(fetches, lambda fetch: found[id(fetch)])

        session.run = substituted  # it stays a session to who looks
        try:
            yield
        finally:
            del session.run
