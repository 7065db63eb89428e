"""The arguments of ``mox.run``, checked before anything is built, and the flags of MoXing.

Contains ``mox.ModeKeys``, ``mox.ExportKeys``, ``mox.get_flag`` and ``mox.set_flag``.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from moxing.tensorflow.utils.hyper_param_flags import mox_flags


class ModeKeys:
    """What ``input_fn`` and ``model_fn`` are called for. EXPORT is chosen by ``mox.run`` alone."""

    TRAIN = "TRAIN"
    EVAL = "EVAL"
    PREDICT = "PREDICT"
    EXPORT = "EXPORT"


ModeKey = ModeKeys  # as the manual writes it in places


class ExportKeys:
    """Kinds of exported models."""

    TF_SERVING = "TF_SERVING"


RUN_MODES = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)
_OLD_WORDS = {"EVALUATION": ModeKeys.EVAL, "EVALUATE": ModeKeys.EVAL, "INFER": ModeKeys.PREDICT}


def mode_of(given: Any) -> str | None:
    """Return the run mode for a value, or None if it is not a run mode.

    Scripts pass the values of their own flags: 'train', and 'evaluation' in older scripts.
    """
    word = given.upper() if isinstance(given, str) else ""
    word = _OLD_WORDS.get(word, word)
    return word if word in RUN_MODES else None


USE_DEFAULT = object()  # marks an argument that was not given
_DEFAULT_SECONDS = 600


@dataclass(frozen=True)
class Request:
    """The checked arguments of a run. None in ``*_every`` and ``save_*`` means never."""

    input_fn: Callable[..., Any]
    model_fn: Callable[..., Any]
    output_fn: Callable[..., Any] | None
    optimizer_fns: tuple[Callable[..., Any], ...]
    run_mode: str
    inter_mode: str | None
    batch_size: int | None
    auto_batch: bool
    log_dir: str | None
    checkpoint_path: str | None
    max_steps: int
    log_every: int | None
    output_every: int | None
    summary_every: int | None
    save_seconds: float | None
    save_steps: int | None
    export: str | None

    @property
    def trains(self) -> bool:
        return self.run_mode == ModeKeys.TRAIN


class _Reader:
    """Reads the arguments and collects all faults, so that the user sees them at once."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.faults: list[tuple[type[Exception], str]] = []

    def fault(self, sentence: str, kind: type[Exception] = ValueError) -> None:
        self.faults.append((kind, sentence))

    def function(self, name: str) -> Any:
        value = self.given[name]
        if value is None:
            self.fault(f"mox.run needs {name}: a function, got None.")
        elif not callable(value):
            self.fault(f"{name} must be a function, got {type(value).__name__}.", TypeError)
        return value

    def mode(self, name: str, optional: bool = False) -> str | None:
        value = self.given[name]
        if optional and value is None:
            return None
        mode = mode_of(value)
        if mode is None:
            modes = ", ".join(f"mox.ModeKeys.{each}" for each in RUN_MODES)
            more = (
                " EXPORT is not given: it follows export_model." if value == ModeKeys.EXPORT else ""
            )
            self.fault(f"{name} must be one of {modes}, got {value!r}.{more}")
        return mode

    def count(self, name: str, least: int = 0) -> int | None:
        """Return a whole number, or None for 0 and None, which mean never."""
        value = self.given[name]
        if value is None:
            return None
        if not _is_whole(value):
            self.fault(f"{name} must be a whole number, got {value!r}.", TypeError)
            return None
        if value < least:
            self.fault(f"{name} must be {least} or more, got {value!r}.")
        return int(value) or None

    def text(self, name: str) -> str | None:
        value = self.given[name]
        if value is None or value == "":
            return None
        try:
            return os.fsdecode(value)
        except TypeError:
            self.fault(f"{name} must be a path, got {type(value).__name__}.", TypeError)
            return None


def read(given: dict[str, Any]) -> Request:
    """Return the request; raise one exception with all faults if there are any."""
    reader = _Reader(given)
    run_mode = reader.mode("run_mode") or ModeKeys.TRAIN
    seconds, steps = _saving(reader)
    request = Request(
        input_fn=reader.function("input_fn"),
        model_fn=reader.function("model_fn"),
        output_fn=_optional_function(reader, "output_fn"),
        optimizer_fns=_optimizers(reader, run_mode),
        run_mode=run_mode,
        inter_mode=reader.mode("inter_mode", optional=True),
        batch_size=reader.count("batch_size", least=1),
        auto_batch=_auto_batch(reader),
        log_dir=reader.text("log_dir"),
        checkpoint_path=reader.text("checkpoint_path"),
        max_steps=reader.count("max_number_of_steps") or 0,
        log_every=reader.count("log_every_n_steps"),
        output_every=reader.count("output_every_n_steps"),
        summary_every=reader.count("save_summary_steps"),
        save_seconds=seconds,
        save_steps=steps,
        export=_export(reader),
    )
    _together(reader, request)
    if reader.faults:
        kinds = {kind for kind, _ in reader.faults}
        raise (kinds.pop() if len(kinds) == 1 else ValueError)(
            "\n".join(sentence for _, sentence in reader.faults)
        )
    return request


def _together(reader: _Reader, request: Request) -> None:
    """Check arguments that depend on each other."""
    if request.output_every and request.output_fn is None:
        reader.fault(
            f"output_every_n_steps={request.output_every} needs output_fn: the function that is "
            "given the outputs."
        )
    if request.export and request.log_dir is None:
        reader.fault("export_model needs log_dir: the model is written below it.")
    if request.trains and request.log_dir and os.path.isfile(request.log_dir):
        reader.fault(f"log_dir must be a directory, got the file {request.log_dir}.")
    if not request.max_steps and not request.export:
        reader.fault(
            "max_number_of_steps must be 1 or more, got 0 or nothing. To run until the data "
            "ends, give a large number such as sys.maxsize."
        )
    if reader.given["fetch_strategy_fn"] is not None:
        reader.fault("fetch_strategy_fn is not there: leave it out.", NotImplementedError)


def _auto_batch(reader: _Reader) -> bool:
    given, size = reader.given["auto_batch"], reader.given["batch_size"]
    if given is True and size is None:
        reader.fault(
            "auto_batch=True needs batch_size. Where input_fn returns batches already, write "
            "auto_batch=False."
        )
    if given is not USE_DEFAULT and given not in (True, False, None):
        reader.fault(f"auto_batch must be True or False, got {given!r}.", TypeError)
    # Public scripts without a batch size return batches, so nothing is batched.
    return size is not None if given is USE_DEFAULT or given is None else bool(given)


def _optional_function(reader: _Reader, name: str) -> Any:
    return None if reader.given[name] is None else reader.function(name)


def _optimizers(reader: _Reader, run_mode: str) -> tuple[Any, ...]:
    given = reader.given["optimizer_fn"]
    functions = tuple(given) if isinstance(given, list | tuple) else (given,)
    if run_mode != ModeKeys.TRAIN:
        return ()
    if given is None or not functions:
        reader.fault(
            "run_mode TRAIN needs optimizer_fn, such as "
            "mox.get_optimizer_fn('sgd', learning_rate=0.01)."
        )
        return ()
    for function in functions:
        if not callable(function):
            cure = (
                f"Write mox.get_optimizer_fn({function!r}, learning_rate=0.01)."
                if isinstance(function, str)
                else f"Write lambda: before it, such as lambda: {type(function).__name__}(…)."
            )
            reader.fault(
                f"'{type(function).__name__}' object is not callable: optimizer_fn must be a "
                f"function that returns an optimizer. {cure}",
                TypeError,
            )
    return functions


def _saving(reader: _Reader) -> tuple[float | None, int | None]:
    seconds, steps = reader.given["save_model_secs"], reader.given["save_model_steps"]
    if seconds is USE_DEFAULT and steps is USE_DEFAULT:
        return _DEFAULT_SECONDS, None
    if seconds is USE_DEFAULT:
        return None, reader.count("save_model_steps")
    if seconds is not None and (not _is_number(seconds) or seconds < 0):
        reader.fault(f"save_model_secs must be a number of seconds, got {seconds!r}.")
        return None, None
    if seconds:
        return float(seconds), None  # it has priority over steps
    return None, None if steps is USE_DEFAULT else reader.count("save_model_steps")


def _export(reader: _Reader) -> str | None:
    given = reader.given["export_model"]
    if not given:
        return None
    if given is True or (isinstance(given, str) and given.upper() == ExportKeys.TF_SERVING):
        return ExportKeys.TF_SERVING
    reader.fault(f"export_model must be mox.ExportKeys.TF_SERVING or False, got {given!r}.")
    return None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str | bytes)


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and _is_number(value) and float(value).is_integer()


def get_flag(name: str = "", *, flag_name: str = "") -> Any:
    """Return the value of a flag of MoXing; the documents call its name both ways.

    Raises:
        ValueError: there is no such flag, or its value is not one of its type.
    """
    return getattr(mox_flags, _known(name or flag_name))


def set_flag(name: str = "", value: Any = None, *, flag_name: str = "") -> None:
    """Set a flag of MoXing for the runs that follow; None gives it its default.

    Raises:
        ValueError: there is no such flag, or the value is not one of its type.
        RuntimeError: called by a function that ``mox.run`` has called.
    """
    known = _known(name or flag_name)
    if _inside_callback():
        raise RuntimeError(
            f"mox.set_flag({known!r}, …) is called too late: call it outside input_fn, model_fn "
            "and optimizer_fn, and before mox.run."
        )
    setattr(mox_flags, known, value)


def _known(name: str) -> str:
    if name not in mox_flags:
        raise ValueError(mox_flags.unknown(name))
    return name


def _inside_callback() -> bool:
    # Not imported, because it needs TensorFlow. No callback runs before it is loaded.
    callbacks = sys.modules.get("moxing.tensorflow.executor.model")
    return callbacks is not None and callbacks.inside_callback()
