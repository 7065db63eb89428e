"""The checkpoint that a run starts from, and the variables that are restored from it.

A checkpoint in ``log_dir`` has priority: it resumes the run. ``checkpoint_path`` starts a run with
the values of another one. Variables that it does not have are initialized, and patterns may exclude
variables.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.gradients import Patterns

NAME = "model.ckpt"  # name of a run's own checkpoints, followed by the step
_STEP = re.compile(r"-(\d+)$")
_PART = re.compile(r"\.(index|meta|data-\d+-of-\d+)$")


def checkpoints(place: str) -> tuple[str, ...]:
    """Return the checkpoints in a directory, the newest first, or the one at ``place``."""
    named = _PART.sub("", place)
    if not tf.gfile.IsDirectory(place):
        return (named,) if tf.train.checkpoint_exists(named) else ()
    listed = _listed(place)
    there = _there(place)
    if listed and step_of(listed[0]) < max(map(step_of, listed)):
        return tuple(dict.fromkeys((*listed, *there)))  # the user has chosen an older one
    found = sorted(dict.fromkeys((*listed, *there)), key=step_of, reverse=True)
    nameless = [each for each in found if step_of(each) < 0]
    if len(nameless) > 1 and len(nameless) == len(found) and not listed:
        raise ValueError(
            f"{place} has several checkpoints: {', '.join(map(os.path.basename, nameless))}. "
            "Name the one that is meant."
        )
    return tuple(found)


def step_of(prefix: str) -> int:
    found = _STEP.search(prefix)
    return int(found.group(1)) if found else -1


def _listed(place: str) -> list[str]:
    """Return the existing checkpoints listed in the file ``checkpoint``, the current one first.

    Its paths may be those of another machine. The files are looked up beside it.
    """
    state = tf.train.get_checkpoint_state(place)
    if state is None:
        return []
    paths = [state.model_checkpoint_path, *reversed(state.all_model_checkpoint_paths)]
    beside = [os.path.join(place, os.path.basename(each)) for each in paths]
    return [each for each in dict.fromkeys(beside) if tf.train.checkpoint_exists(each)]


def _there(place: str) -> list[str]:
    """Return all checkpoints in the directory, listed or not.

    A checkpoint of the first format is a single file.
    """
    names = [name.rstrip("/") for name in tf.gfile.ListDirectory(place)]
    second = [name[: -len(".index")] for name in names if name.endswith(".index")]
    first = [name for name in names if name.endswith(".ckpt") and name not in second]
    found = [os.path.join(place, name) for name in (*second, *first)]
    return [each for each in found if tf.train.checkpoint_exists(each)]


# Errors of access to a store; the checkpoint itself may be complete.
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
    """Checkpoints to start from, newest first. ``resumes`` is True if they are the run's own."""

    prefixes: tuple[str, ...]
    resumes: bool


def source(log_dir: str | None, checkpoint_path: str | None) -> Source | None:
    """Return the checkpoints to start from, or None if there are none."""
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
    """Restores the variables of a new session. Create it when the graph has all variables.

    ``slots`` are the variables of the optimizers. With ``needed``, it is an error if no checkpoint
    can be read.
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
        # The graph is finalized when the session exists.
        prefixes = found.prefixes if found is not None else ()
        self._ready = {prefix: self._prepared(prefix) for prefix in prefixes}
        self.taken: str | None = None

    @property
    def own(self) -> list[str]:
        """The readable checkpoints that this run has saved before, newest first.

        Those of ``checkpoint_path`` belong to another run, and files with other names to the user.
        """
        if self._source is None or not self._source.resumes:
            return []
        whole = [prefix for prefix, restore in self._ready.items() if restore is not None]
        return [prefix for prefix in whole if os.path.basename(prefix).startswith(f"{NAME}-")]

    def __call__(self, session: Any) -> None:
        """Restore the newest readable checkpoint; log those that are damaged.

        Raises:
            ValueError: the checkpoint does not match the model, or with ``needed`` none can be
                read.
        """
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
        """Return a function that restores a checkpoint, or None if it is damaged.

        If the checkpoint does not match the model, the function raises ValueError.
        """
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
                self._log_missing(prefix, missing)
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
        """Return a message if variables of the model are missing, else ''.

        Slots of a changed optimizer may be missing.
        """
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

    def _log_missing(self, prefix: str, missing: Sequence[str]) -> None:
        assert self._source is not None
        of_optimizer = " of the optimizer" if self._source.resumes else ""
        log = tf.logging.warning if self._source.resumes else tf.logging.info
        log("%s does not have %s%s: initialised instead.", prefix, ", ".join(missing), of_optimizer)


def _skip(prefix: str, error: tf.errors.OpError) -> None:
    if isinstance(error, _ELSEWHERE):
        raise error
    tf.logging.warning(
        "The checkpoint %s is damaged and left out: %s", prefix, error.message.split("\n", 1)[0]
    )
