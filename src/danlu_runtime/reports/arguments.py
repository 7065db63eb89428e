"""Reports arguments that the script does not define, when its parser reads them.

``danlu run`` checks parameters before a job is queued, but it cannot read names that a script
makes at run time. Here the parser itself is asked. A strict parser (argparse, absl, click) ends
the script; its message gets the nearest name, or the names that are defined if none is near. A
tolerant one (``parse_known_args``, ``tf.flags``) and fire, which calls the function first, get a
line in the log. Arguments of the service are not reported.
"""

from __future__ import annotations

import sys

from danlu.messages import get_message
from danlu_runtime.reports.notes import print_message
from danlu_runtime.start import own_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import FrameType
    from typing import Any

# Arguments that services add to the user's arguments.
_SERVICE = frozenset(
    (
        *("data_url", "train_url", "num_gpus"),
        *("job_name", "task_index", "ps_hosts", "worker_hosts"),
        *("init_method", "rank", "world_size"),
    )
)
_LISTED = 12
_AMENDED = "_danlu_reports"  # set on a class or module that reports already
_LIBRARIES = ("absl", "tensorflow", "tensorboard", "danlu_runtime", "moxing")
_reported: set[str] = set()
_parsers: list[Any] = []  # of argparse; a name that one of them defines is not unknown


def _listed(defined: Iterable[str]) -> list[str]:
    return sorted({each.lstrip("-") for each in defined} - {"help", ""})


def _nearest(name: str, defined: Iterable[str]) -> str:
    """Return the defined name that is nearest to ``name``, or "" if none is near."""
    plain = {_plain(each): each for each in reversed(_listed(defined))}
    matches = own_code.import_isolated("difflib").get_close_matches
    near = matches(_plain(name), list(plain), n=1, cutoff=0.8)
    return plain[near[0]] if near else ""


def advise(name: str, defined: Iterable[str]) -> str:
    """Return the defined name that is nearest to ``name``, or a list of names if none is near."""
    names = _listed(defined)
    if near := _nearest(name, names):
        return get_message("arguments.did_you_mean", name=near)
    if not names:
        return get_message("fault.script_has_none")
    shown = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
    return get_message("fault.script_has", names=shown)


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "_").casefold()


def _names(words: Iterable[str]) -> Iterator[str]:
    """Yield the names of the user's options among command line words."""
    for word in words:
        name = word[2:].partition("=")[0] if word.startswith("--") else ""
        if name and name not in _SERVICE:
            yield name


def _report(parser: str, name: str, defined: Iterable[str]) -> None:
    """Print a line for an argument that a parser ignores, once."""
    if name not in _reported:
        _reported.add(name)
        near = advise(name, defined)
        print_message(get_message("arguments.ignored", parser=parser, name=name, near=near))


def amend_argparse(module: Any) -> None:
    kind = module.ArgumentParser
    create, error, parse_known = kind.__init__, kind.error, kind.parse_known_args

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        create(self, *args, **kwargs)
        _parsers.append(self)

    def helpful_error(self: Any, message: str) -> Any:
        _, found, words = str(message).partition("unrecognized arguments: ")
        names = list(dict.fromkeys(_names(words.split()))) if found else []
        advice = [advise(name, _options(module, self)) for name in names]
        if len(names) > 1:
            advice = [f"--{name}: {text}" for name, text in zip(names, advice, strict=True)]
        return error(self, f"{message} ({' '.join(advice)})" if advice else message)

    def noted_parse(self: Any, args: Any = None, namespace: Any = None) -> Any:
        result = parse_known(self, args, namespace)
        if _is_own_call(sys._getframe(1)):
            defined = _options(module, self)
            for name in _names(result[1]):
                if not any(f"--{name}" in parser._option_string_actions for parser in _parsers):
                    _report("parse_known_args()", name, defined)
        return result

    kind.__init__, kind.error, kind.parse_known_args = init, helpful_error, noted_parse
    for new, old in ((init, create), (helpful_error, error), (noted_parse, parse_known)):
        new.__name__, new.__doc__ = old.__name__, old.__doc__


def _options(module: Any, parser: Any) -> list[str]:
    """Return the long options of a parser and of its subcommands."""
    found = [option for option in parser._option_string_actions if option.startswith("--")]
    for action in parser._actions:
        if isinstance(action, module._SubParsersAction):
            for inner in action.choices.values():
                found += _options(module, inner)
    return found


def _is_own_call(frame: FrameType) -> bool:
    """Return True for a call in the user's code. argparse and libraries call the method too."""
    return own_code.contains(frame.f_code.co_filename)


def amend_absl(module: Any) -> None:
    """Amend ``absl.flags._flagvalues``; do nothing when called again."""
    kind = module.FlagValues
    if getattr(kind, _AMENDED, False):
        return
    setattr(kind, _AMENDED, True)
    parse = kind.__call__

    def reporting_parse(self: Any, argv: Sequence[str], known_only: bool = False) -> list[str]:
        try:
            rest: list[str] = parse(self, argv, known_only)
        except module._exceptions.UnrecognizedFlagError as error:
            if "Did you mean" not in str(error) and error.flagname not in _SERVICE:
                error.args = (f"{error}. {advise(error.flagname, _script_flags(self))}",)
            raise
        if known_only and self is sys.modules["absl.flags"].FLAGS:
            _report_ignored(self, rest[1:])
        return rest

    kind.__call__ = reporting_parse


def _report_ignored(values: Any, rest: Sequence[str]) -> None:
    for name in _names(rest):
        if name in values or name.removeprefix("no") in values:
            continue
        if any(f"--{name}" in parser._option_string_actions for parser in _parsers):
            continue
        if _is_defined_in_code(name):
            continue  # later: ``tf.flags`` then takes the value of the command line
        defined = _script_flags(values)
        # MoXing reads arguments of its own that no parser defines.
        if "moxing" not in sys.modules or _nearest(name, defined):
            _report("tf.flags", name, defined)


def _is_defined_in_code(name: str) -> bool:
    """Return True if a loaded file of the script contains a definition of the flag."""
    re = own_code.import_isolated("re")
    written = re.escape(name)
    pattern = rf"DEFINE_\w+\(\s*(?:(?:flag_)?name\s*=\s*)?['\"]{written}['\"]"
    lines_of = own_code.import_isolated("linecache").getlines
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    return any(re.search(pattern, "".join(lines_of(file))) for file in files if _is_own(file))


def _is_own(file: str) -> bool:
    return isinstance(file, str) and own_code.contains(file)


def _script_flags(values: Any) -> list[str]:
    """Return the flags that the script defines, without those of libraries."""
    return [
        flag.name
        for defining, flags in values.flags_by_module_dict().items()
        if defining.partition(".")[0] not in _LIBRARIES
        for flag in flags
    ]


def amend_click(module: Any) -> None:
    """Amend ``click.exceptions``. click itself adds names that are near."""
    kind = module.NoSuchOption
    shown = kind.format_message

    def format_message(self: Any) -> str:
        text: str = shown(self)
        if getattr(self, "possibilities", None) or self.ctx is None:
            return text
        name = self.option_name.lstrip("-")
        defined = [option for each in self.ctx.command.params for option in each.opts]
        return text if name in _SERVICE else f"{text} {advise(name, defined)}"

    kind.format_message = format_message


def amend_fire(module: Any) -> None:
    """Amend ``fire.core``, which reports an unknown argument only after the function has run."""
    parse = module._ParseKeywordArgs

    def reporting_parse(args: Any, fn_spec: Any) -> Any:
        result = parse(args, fn_spec)
        for name in _names(result[1]):
            if name != "help":
                _report("fire", name, [*fn_spec.args, *fn_spec.kwonlyargs])
        return result

    module._ParseKeywordArgs = reporting_parse
