"""Which checkpoint a run begins with, and what of it is taken.

A checkpoint in ``log_dir`` comes first: the run goes on. ``checkpoint_path`` is for beginning from
another's values: what it does not have is initialised, and patterns may leave variables out.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.flags import get_flag

# What says that a store cannot be reached now: the checkpoint may be whole.
_ELSEWHERE = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.PermissionDeniedError,
    tf.errors.UnauthenticatedError,
    tf.errors.UnavailableError,
)
_STEP = re.compile(r"-(\d+)$")


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


def checkpoints(place: str) -> tuple[str, ...]:
    """Return the checkpoints in a directory, the newest first, or the one that is named."""
    if tf.train.checkpoint_exists(place) and not tf.gfile.IsDirectory(place):
        return (place,)
    if not tf.gfile.IsDirectory(place):
        return ()
    state = tf.train.get_checkpoint_state(place)
    listed = [*state.all_model_checkpoint_paths, state.model_checkpoint_path] if state else []
    known = list(dict.fromkeys(_plain(each) for each in reversed(listed)))
    written = {_plain(name[: -len(".index")]) for name in _glob(os.path.join(place, "*.index"))}
    # One that was written when the program was killed may not be in the list yet.
    last = max(map(_step, known), default=-1)
    newer = sorted((each for each in written - {*known} if _step(each) > last), key=_step)
    return (*reversed(newer), *known)


def _glob(pattern: str) -> list[str]:
    return list(tf.gfile.Glob(pattern))


def _plain(prefix: str) -> str:
    return prefix if "://" in prefix else os.path.normpath(prefix)


def _step(prefix: str) -> int:
    found = _STEP.search(prefix)
    return int(found.group(1)) if found else -1


class Restorer:
    """Gives a new session its values. Made once the graph has all its variables."""

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
        self._savers: dict[str, Any] = {}
        if found is not None:
            for prefix in found.prefixes:
                self._prepare(prefix)

    def __call__(self, session: Any) -> str | None:
        """Restore; return the checkpoint that was taken, None for none.

        The newest that can be read is taken, and one that cannot is named.
        """
        if self._source is None:
            return None
        for prefix in self._source.prefixes:
            saver = self._savers.get(prefix)
            if saver is None:
                continue
            try:
                saver.restore(session, prefix)
            except tf.errors.OpError as error:
                _skip(prefix, error)
                continue
            return prefix
        if self._needed:
            raise ValueError(f"No checkpoint could be read: {', '.join(self._source.prefixes)}.")
        tf.logging.warning("No checkpoint could be read: the training begins anew.")
        return None

    def _prepare(self, prefix: str) -> None:
        """Make what restores a checkpoint, for the graph is closed when the session is there."""
        try:
            shapes = tf.train.load_checkpoint(prefix).get_variable_to_shape_map()
        except tf.errors.OpError as error:
            _skip(prefix, error)
            return
        assert self._source is not None
        wanted = self._wanted()
        taken = _paired(wanted, shapes)
        missing = sorted(set(wanted) - set(taken))
        if self._source.resumes:
            self._check_own(prefix, missing)
        elif missing:
            tf.logging.info("%s does not have %s: initialised instead.", prefix, ", ".join(missing))
        self._check_shapes(prefix, taken, shapes)
        names = {saved: self._variables[name] for name, saved in taken.items()}
        if names:
            self._savers[prefix] = tf.train.Saver(names)

    def _wanted(self) -> list[str]:
        assert self._source is not None
        if self._source.resumes:
            return list(self._variables)
        include, exclude = (
            [each.strip() for each in str(get_flag(flag) or "").split(",") if each.strip()]
            for flag in ("checkpoint_include_patterns", "checkpoint_exclude_patterns")
        )
        return [
            name
            for name in self._variables
            if (not include or any(re.search(each, name) for each in include))
            and not any(re.search(each, name) for each in exclude)
        ]

    def _check_own(self, prefix: str, missing: list[str]) -> None:
        """Let a changed optimizer go on without its slots, and no part of the model be lost."""
        lost = [name for name in missing if name not in self._slots]
        if lost:
            raise ValueError(
                f"The checkpoint {prefix} does not have {', '.join(lost)}: the model has changed "
                "since. Give another log_dir, and this one as checkpoint_path to begin with what "
                "it has."
            )
        if missing:
            tf.logging.warning(
                "%s does not have %s of the optimizer: initialised instead.",
                *(prefix, ", ".join(missing)),
            )

    def _check_shapes(self, prefix: str, taken: dict[str, str], shapes: dict[str, Any]) -> None:
        wrong = [
            f"{name} is {self._variables[name].shape.as_list()} here, {list(shapes[saved])} there"
            for name, saved in taken.items()
            if not self._variables[name].shape.is_compatible_with(shapes[saved])
        ]
        if wrong:
            raise ValueError(
                f"The checkpoint {prefix} has other shapes: {'; '.join(wrong)}. Leave such "
                "variables out with --checkpoint_exclude_patterns=…"
            )


def _paired(wanted: Sequence[str], shapes: dict[str, Any]) -> dict[str, str]:
    """Return the name in the checkpoint of each variable that it has."""
    taken = {name: name for name in wanted if name in shapes}
    # Some versions of MoXing kept the step in the scope of the optimizer.
    if "global_step" in wanted and "global_step" not in taken and "Adam/global_step" in shapes:
        taken["global_step"] = "Adam/global_step"
    return taken


def _skip(prefix: str, error: Exception) -> None:
    if isinstance(error, _ELSEWHERE):
        raise error
    tf.logging.warning(
        "The checkpoint %s is damaged and left out: %s", prefix, str(error).split("\n", 1)[0]
    )
