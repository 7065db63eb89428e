"""``mox_flags``: the flags of MoXing, read from the command line on first use.

They are not in ``tf.flags``. Scripts define flags of the same names there, and read them while
other modules are still being imported.
"""

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from danlu.errors import find_similar

Value = bool | int | float | str


@dataclass(frozen=True)
class Flag:
    """A flag of MoXing.

    ``agreed`` are the values of an unused flag that request what is done anyway.
    """

    name: str
    default: Value
    help: str
    used: bool = True
    agreed: tuple[Value, ...] = ()

    @property
    def type(self) -> type[Value]:
        return type(self.default)


def _unused(name: str, default: Value, help: str, *agreed: Value) -> Flag:
    return Flag(name, default, help, used=False, agreed=(default, *agreed))


PLACES = (
    Flag("num_gpus", 1, "GPUs of this process: model_fn is built once for each."),
    Flag("clone_on_cpu", False, "Build every clone on the CPU."),
    Flag("strict_gpus", False, "Fail where there are fewer GPUs than num_gpus asks for."),
    Flag("num_inter_threads", 0, "Operations that run side by side; 0: TensorFlow decides."),
    Flag("num_intra_threads", 0, "Threads of one operation; 0: TensorFlow decides."),
    _unused("num_prefetch_threads", 0, "Threads that prefetch: tf.data decides."),
)

CLUSTER = (
    Flag("job_name", "", "What this process is: ps or worker. Empty: one process, no cluster."),
    Flag("task_index", 0, "Which of its kind this process is; worker 0 is the chief."),
    Flag("ps_hosts", "", "Addresses of the parameter servers: host:port, with commas between."),
    Flag("worker_hosts", "", "Addresses of the workers: host:port, with commas between."),
    Flag("sync_replicas", True, "One step is one update from all workers together."),
    Flag("chief_inc_global_step", False, "Only the chief counts the global step."),
    Flag("sync_before_server", False, "Wait for every process before the server starts."),
    Flag("session_timeout", 0, "Seconds to wait for the others at the start; 0: no end."),
    _unused("controller_host", "", "Address of the controller of an all-reduce."),
    _unused(
        "variable_update",
        "auto",
        "How variables are shared: as parameter_server in a cluster, between clones otherwise.",
        *("parameter_server", "replicated"),
    ),
    _unused("warmup_steps", 50, "Length of a trial of variable_update; there are no trials.", 0),
    _unused("local_parameter_device", "cpu", "Device of the variables of a process."),
    _unused("server_protocol", "grpc", "Protocol between the processes: grpc."),
    _unused("dgc_sparsity_strategy", "", "Share of a gradient that is held back, epoch by epoch."),
    _unused("dgc_momentum_type", "", "Momentum of gradients that are held back."),
    _unused("dgc_momentum", 0.0, "Its factor."),
    _unused("dgc_momentum_factor_masking", False, "Whether it is masked."),
    _unused("dgc_total_samples", 0, "Samples of an epoch of the strategy."),
    _unused("min_size_in_kb", 0, "Smallest variable of distributed_replicated_mix."),
    _unused("var_space_starter", 0, "First variable of distributed_replicated_mix."),
    _unused("var_mix_offset", 0, "Offset of distributed_replicated_mix."),
)

TRAINING = (
    Flag("log_first_clone", True, "Show log_info of the first clone; False: the mean of all."),
    Flag("loss_scale", 1.0, "The loss is multiplied by it, the gradients divided; 1: neither."),
    Flag("use_fp16", False, "Compute in float16, and keep the variables in float32."),
    Flag(
        "var_dtype", "", "Type of the variables of model_fn, whatever it computes in: fp32, fp16."
    ),
    Flag("gradient_clip_type", "", "How gradients are clipped: norm or value."),
    Flag("gradient_clip", 0.0, "The bound they are clipped to; 0: none."),
    Flag(
        "trainable_include_patterns",
        "",
        "Train variables whose names have one of these in them, with commas between. Empty: all.",
    ),
    Flag("trainable_exclude_patterns", "", "Do not train variables with one of these."),
)

CHECKPOINTS = (
    Flag(
        "checkpoint_include_patterns",
        "",
        "Read variables whose names have one of these in them from checkpoint_path. Empty: all.",
    ),
    Flag("checkpoint_exclude_patterns", "", "Do not read variables with one of these."),
)

OTHERS = (
    _unused("running_log_level", 0, "The log level; tf.logging.set_verbosity sets it."),
    _unused("rank", 0, "Of MoXing for PyTorch: which process this is."),
    _unused("world_size", 1, "Of MoXing for PyTorch: how many processes there are."),
    _unused("init_method", "", "Of MoXing for PyTorch: where they meet."),
)

GROUPS: dict[str, tuple[Flag, ...]] = {
    "devices": PLACES,
    "cluster": CLUSTER,
    "training": TRAINING,
    "checkpoints": CHECKPOINTS,
    "others": OTHERS,
}


BARE = "\0"  # a flag without its value; it may be a flag of the script
_WORDS = {"true": True, "t": True, "1": True, "yes": True, "y": True}
_WORDS |= {"false": False, "f": False, "0": False, "no": False, "n": False}
_KINDS = {bool: "True or False", int: "a whole number", float: "a number", str: "text"}


def given(flags: Mapping[str, Flag], argv: Sequence[str]) -> dict[str, str]:
    """Return the text of each flag on a command line; other arguments are ignored.

    ``--x=v``, ``--x v``, ``--x`` and ``--nox`` are read, with one dash too. The last one counts.
    Arguments after ``--`` are ignored.
    """
    found: dict[str, str] = {}
    words = zip(argv, [*argv[1:], None], strict=False)
    for word, following in words:
        if word == "--":
            break
        name, equals, text = _name(word).partition("=")
        if name in flags and equals:
            found[name] = text
        elif name in flags:
            takes = _takes(flags[name], following)
            bare = "True" if flags[name].type is bool else BARE
            found[name] = str(following) if takes else bare
            if takes:
                next(words)
        elif name[2:] in flags and name[:2] == "no" and flags[name[2:]].type is bool:
            found[name[2:]] = "False"
    return found


def convert(flag: Flag, value: Any, *, dashes: str = "--") -> Value:
    """Return a value as the flag's type; None and empty text mean the default.

    Raises:
        ValueError: the value cannot be converted.
    """
    if value == BARE:
        raise ValueError(f"--{flag.name} has no value: write --{flag.name}={flag.default or '…'}.")
    text = value.strip() if isinstance(value, str) else value
    if text is None or text == "":
        return flag.default
    try:
        return _converted(flag.type, text)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{dashes}{flag.name} must be {_KINDS[flag.type]}, got {value!r}."
        ) from None


def _converted(kind: type[Value], value: Any) -> Value:
    if kind is bool:
        if isinstance(value, str):
            return _word(value)
        if value in (0, 1):  # True and False, and NumPy's
            return bool(value)
        raise ValueError(value)
    if kind is str:
        if isinstance(value, str):
            return value
        raise ValueError(value)
    if isinstance(value, bool):
        raise ValueError(value)
    number = float(value)
    if kind is float:
        return number
    if number != int(number):
        raise ValueError(value)
    return int(number)


def _word(text: str) -> bool:
    if text.lower() not in _WORDS:
        raise ValueError(text)
    return _WORDS[text.lower()]


def _name(word: str) -> str:
    """Return an argument without its dashes, or '' if it has none."""
    return word[2:] if word.startswith("--") else word[1:] if word.startswith("-") else ""


def _takes(flag: Flag, following: str | None) -> bool:
    """Return True if the next argument is the value of a flag without ``=``."""
    if flag.type is bool:  # `--x data.csv`: the word is the script's
        return following is not None and following.lower() in _WORDS
    return following is not None and not following.startswith("--")


log = logging.getLogger("moxing")


class HyperParamFlags:
    """The flags of MoXing, as attributes.

    ``argv`` is the command line without the script's name; None means that of the process. A value
    is converted when it is read. A script may therefore have a flag of the same name with another
    type.
    """

    def __init__(self, flags: Iterable[Flag], argv: Sequence[str] | None = None) -> None:
        state = {"_flags": {flag.name: flag for flag in flags}, "_argv": argv}
        self.__dict__.update(state, _line=None, _set={}, _logged=set())

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._flags]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by Python itself: copy, pickle
            raise AttributeError(name)
        flag = self._flag(name)
        line = self._command_line()
        return self._set[name] if name in self._set else convert(flag, line.get(name))

    def __setattr__(self, name: str, value: Any) -> None:
        flag = self._flag(name)
        self._set[name] = convert(flag, value, dashes="")
        self._log_if_unused(flag, self._set[name])

    def get_help(self) -> str:
        """Return a text of every flag, its default and its meaning."""
        lines = [f"--{f.name} ({f.type.__name__}, {f.default!r})" for f in self._flags.values()]
        width = max(len(line) for line in lines)
        return "\n".join(
            f"{line:<{width}}  {flag.help}{'' if flag.used else ' Accepted, not used.'}"
            for line, flag in zip(lines, self._flags.values(), strict=True)
        )

    def unknown(self, name: str) -> str:
        """Return the error message for an unknown flag."""
        near = find_similar(name, self._flags)
        hint = f"Did you mean {near!r}?" if near else "mox_flags.get_help() lists them."
        return f"MoXing has no flag {name!r}. {hint}"

    def forget(self) -> None:
        """Read every value from the command line again, as at the start of the process."""
        self.__dict__.update(_line=None, _set={}, _logged=set())

    def _flag(self, name: str) -> Flag:
        if name in self._flags:
            return self._flags[name]
        raise AttributeError(self.unknown(name))

    def _command_line(self) -> dict[str, str]:
        line: dict[str, str] | None = self._line
        if line is None:
            argv = sys.argv[1:] if self._argv is None else self._argv
            line = self.__dict__["_line"] = given(self._flags, argv)
            for name, text in line.items():
                if text != BARE:
                    self._log_if_unused(self._flags[name], text)
        return line

    def _log_if_unused(self, flag: Flag, value: Value) -> None:
        agreed = {"", *map(str, flag.agreed)}
        if not flag.used and str(value) not in agreed and flag.name not in self._logged:
            self._logged.add(flag.name)
            log.info("--%s=%s is accepted for compatibility, not used.", flag.name, value)


mox_flags = HyperParamFlags(flag for group in GROUPS.values() for flag in group)
