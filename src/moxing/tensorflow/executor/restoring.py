"""Which checkpoint a run begins with, and what of it is taken.

A checkpoint in ``log_dir`` comes first: the run goes on. ``checkpoint_path`` is for beginning from
another's values: what it does not have is initialised, and patterns may leave variables out.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.checkpoints import NAME, checkpoints
from moxing.tensorflow.executor.patterns import Patterns

# What says that a store cannot be reached now: the checkpoint may be whole.
_ELSEWHERE = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.PermissionDeniedError,
    tf.errors.UnauthenticatedError,
    tf.errors.UnavailableError,
)
_OLD_STEP = "Adam/global_step"  # some versions of MoXing kept it in the scope of the optimizer


@dataclass(frozen=True)
class Source:
    """Checkpoints to begin with, the newest first. ``resumes``: they are the run's own."""

    prefixes: tuple[str, ...]
    resumes: bool


def source(log_dir: str | None, checkpoint_path: str | None) -> Source | None:
    """Return where values come from, None where there is no checkpoint."""
    own = checkpoints(log_dir) if log_dir else ()
    if own:
        if checkpoint_path:
            tf.logging.info(
                "Ignoring --checkpoint_path because a checkpoint already exists in %s", log_dir
            )
        return Source(own, resumes=True)
    given = checkpoints(checkpoint_path) if checkpoint_path else ()
    if checkpoint_path and not given:
        tf.logging.warning("There is no checkpoint in checkpoint_path %s.", checkpoint_path)
    return Source(given, resumes=False) if given else None


class Restorer:
    """Gives a new session its values. Made once the graph has all its variables.

    ``slots`` are of the optimizers; ``needed``: without its values the model is of no use.
    """

    def __init__(
        self,
        found: Source | None,
        variables: Sequence[Any],
        slots: Sequence[Any] = (),
        needed: bool = False,
    ) -> None:
        self._source = found
        self._needed = needed
        self._variables = {each.op.name: each for each in variables}
        self._slots = {each.op.name for each in slots}
        # A graph takes no more operations when the session is there.
        prefixes = found.prefixes if found is not None else ()
        self._ready = {prefix: self._prepared(prefix) for prefix in prefixes}
        self.taken: str | None = None

    @property
    def own(self) -> list[str]:
        """The checkpoints that this run has saved before and that can be read, the newest first.

        Those of ``checkpoint_path`` are another's, and files of other names the user's.
        """
        if self._source is None or not self._source.resumes:
            return []
        whole = [prefix for prefix, restore in self._ready.items() if restore is not None]
        return [prefix for prefix in whole if os.path.basename(prefix).startswith(f"{NAME}-")]

    def __call__(self, session: Any) -> None:
        """Restore the newest that can be read; name those that cannot."""
        for prefix, restore in self._ready.items():
            if restore is None:
                continue
            try:
                restore(session)
            except tf.errors.OpError as error:
                _skip(prefix, error)
                self._ready[prefix] = None
                continue
            self.taken = prefix
            return
        if self._source is None:
            return
        if self._needed:
            raise ValueError(f"No checkpoint could be read: {', '.join(self._source.prefixes)}.")
        tf.logging.warning("No checkpoint could be read: the training begins anew.")

    def _prepared(self, prefix: str) -> Callable[[Any], None] | None:
        """Return what restores a checkpoint; a fault of it is raised where it is taken."""
        try:
            shapes = tf.train.load_checkpoint(prefix).get_variable_to_shape_map()
        except tf.errors.OpError as error:
            _skip(prefix, error)
            return None
        wanted = self._wanted()
        taken = {name: name for name in wanted if name in shapes}
        if "global_step" in set(wanted) - set(taken) and _OLD_STEP in shapes:
            taken["global_step"] = _OLD_STEP
        missing = sorted(set(wanted) - set(taken))
        fault = self._fault(prefix, missing) or self._other_shapes(prefix, taken, shapes)
        names = {saved: self._variables[name] for name, saved in taken.items()}
        saver = tf.train.Saver(names) if names and not fault else None

        def restore(session: Any) -> None:
            if fault:
                raise ValueError(fault)
            if missing:
                self._tell(prefix, missing)
            if saver is not None:
                saver.restore(session, prefix)

        return restore

    def _wanted(self) -> list[str]:
        assert self._source is not None
        if self._source.resumes:
            return list(self._variables)
        patterns = Patterns("checkpoint_include_patterns", "checkpoint_exclude_patterns")
        return [name for name in self._variables if patterns.take(name)]

    def _fault(self, prefix: str, missing: Sequence[str]) -> str:
        """Let no part of a model be lost: slots of a changed optimizer may be missing."""
        assert self._source is not None
        lost = [name for name in missing if name not in self._slots and name != "global_step"]
        if not lost or not (self._source.resumes or self._needed):
            return ""
        advice = (
            "Give another log_dir, and this one as checkpoint_path to begin with what it has."
            if self._source.resumes
            else "It is the checkpoint of another model."
        )
        return (
            f"The checkpoint {prefix} does not have {', '.join(lost)}: the model has changed "
            f"since. {advice}"
        )

    def _other_shapes(self, prefix: str, taken: dict[str, str], shapes: dict[str, Any]) -> str:
        assert self._source is not None
        wrong = [
            f"{name} is {self._variables[name].shape.as_list()} here, {list(shapes[saved])} there"
            for name, saved in taken.items()
            if not self._variables[name].shape.is_compatible_with(shapes[saved])
        ]
        if not wrong:
            return ""
        advice = (
            "Give another log_dir."
            if self._source.resumes
            else "Leave such variables out with --checkpoint_exclude_patterns=…"
        )
        return f"The checkpoint {prefix} has other shapes: {'; '.join(wrong)}. {advice}"

    def _tell(self, prefix: str, missing: Sequence[str]) -> None:
        assert self._source is not None
        of_optimizer = " of the optimizer" if self._source.resumes else ""
        say = tf.logging.warning if self._source.resumes else tf.logging.info
        say("%s does not have %s%s: initialised instead.", prefix, ", ".join(missing), of_optimizer)


def _skip(prefix: str, error: tf.errors.OpError) -> None:
    if isinstance(error, _ELSEWHERE):
        raise error
    tf.logging.warning(
        "The checkpoint %s is damaged and left out: %s", prefix, error.message.split("\n", 1)[0]
    )
