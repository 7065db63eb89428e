"""How the training of one graph is run: the steps to the next one that a hook is due at, and it."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.training import training_util

from danlu_runtime import steps
from danlu_runtime.fused.hooks import miss, runs_until_due, sees_every_run, wanted_of
from danlu_runtime.fused.loop import Fused
from danlu_runtime.fused.substitute import Substitute
from danlu_runtime.notes import say

_MOST = 1000  # steps between two looks at the hooks
_SECONDS = 0.5  # the longest call: a training can be stopped, and shows where it is
_FIRST = 10  # steps of the first call, before their time is known
_FEW = 2  # where that may be long: a program is compiled, and may be slow


class Plan:
    """``values`` are those of one step, in the order of the loop's own.

    ``slower`` is told where it turns out that compiled steps are.
    """

    def __init__(
        self,
        specification: Any,
        values: Sequence[tf.Tensor],
        fused: Fused,
        slower: Callable[[str], None],
    ) -> None:
        self._slower = slower
        self._op = specification.train_op
        self._fused = fused
        counter = tf.train.get_global_step()
        self._read = training_util._get_or_create_global_step_read()
        self._substitute = Substitute(self._op, fused.op)
        for value, by in zip(values, fused.values, strict=True):
            self._substitute.add(value, by)
        with tf.control_dependencies([fused.op]):
            before = counter.read_value() - 1  # hooks are told the step a run begins at
        for element in (counter, counter._as_graph_element(), self._read):
            self._substitute.add(element, before)
        self._pace = _FEW if fused.is_compiled else _FIRST
        self._works: bool | None = None

    def is_step(self, fetches: Any) -> bool:
        """Tell whether this is what an Estimator fetches in every step."""
        return isinstance(fetches, list) and len(fetches) == 2 and fetches[0] is self._op

    def run(self, session: Any, single: Callable[[], Any]) -> Any:
        """Make the steps until some hook is due, and that one, by ``single``, with all hooks."""
        if self._works is None:
            self._works = self._is_possible(session._hooks)
        if not self._works:
            return single()
        ahead = self._runs(session) - 1
        while ahead > 0:
            made = self._call(session._sess, ahead)
            ahead -= made
            for hook in session._hooks:
                miss(hook, made)
        if not self._fused.alone:
            return single()
        with self._substitute.put_into(session._sess, self._fused.feed(1)):
            return single()

    def _call(self, session: Any, ahead: int) -> int:
        """Make some of the steps ahead in one call; return how many."""
        count = self._fused.limit(min(ahead, self._pace))
        began = time.perf_counter()
        session.run(self._fused.op, self._fused.feed(count))
        seconds = time.perf_counter() - began
        fitting = int(_SECONDS * count / max(seconds, 1e-9))
        self._pace = max(_FEW, min(fitting, 2 * self._pace))
        reason = self._fused.took(count, seconds)
        if reason is not None:
            self._slower(reason)
        return count

    def _runs(self, session: Any) -> int:
        step = int(session._sess.run(self._read))
        runs = min((runs_until_due(hook, step) for hook in session._hooks), default=1)
        left = steps.allowance()
        return max(1, min(runs, _MOST, _MOST if left is None else left))

    def _is_possible(self, hooks: Sequence[Any]) -> bool:
        for hook in hooks:
            if sees_every_run(hook):
                say(f"the steps are made one by one: {type(hook).__name__} looks at each of them")
                return False
            strange = [each for each in wanted_of(hook) if not self._substitute.knows(each)]
            if self._fused.alone and strange:
                say(
                    f"the steps are made one by one: {type(hook).__name__} looks at "
                    f"{strange[0].name!r}, and what is read and drawn must be so in turn"
                )
                return False
        return True
