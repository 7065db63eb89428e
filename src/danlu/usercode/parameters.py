"""The parameters that a script defines, read from its text before it runs.

Supported are argparse, optparse, the flags of absl and TensorFlow, click and fire. The result is
None if the definitions cannot be read completely: names generated at run time, a parser of an
installed package, or arguments parsed without a parser. A wrong rejection is worse than a missing
one. The functions are pure. See docs/guides/pitfalls.md.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from danlu.usercode.calls import Call, bases
from danlu.usercode.parser_calls import (
    FLAG,
    STRICT,
    TOLERANT,
    CodeFile,
    is_decorated,
    is_parser,
    is_usual,
    last_part,
    literal_names,
    names_defined_by,
    parsing_function,
    reads_command_line,
)
from danlu.usercode.python_text import Import
from danlu.usercode.tensorflow_version import follow

# Arguments that MoXing reads from the command line, whatever the script defines.
MOXING = frozenset(
    (
        "checkpoint_exclude_patterns", "checkpoint_include_patterns", "chief_inc_global_step",
        "clone_on_cpu", "controller_host", "dgc_momentum", "dgc_momentum_factor_masking",
        "dgc_momentum_type", "dgc_sparsity_strategy", "dgc_total_samples", "gradient_clip",
        "gradient_clip_type", "init_method", "job_name", "local_parameter_device",
        "log_first_clone", "loss_scale", "min_size_in_kb", "num_gpus", "num_inter_threads",
        "num_intra_threads", "num_prefetch_threads", "ps_hosts", "rank", "running_log_level",
        "server_protocol", "session_timeout", "strict_gpus", "sync_before_server",
        "sync_replicas", "task_index", "trainable_exclude_patterns",
        "trainable_include_patterns", "use_fp16", "var_dtype", "var_mix_offset",
        "var_space_starter", "variable_update", "warmup_steps", "worker_hosts", "world_size",
    )
)  # fmt: skip

# Flags that absl's own modules define (absl-py 2).
ABSL = frozenset(
    (
        "alsologtostderr", "flagfile", "help", "helpfull", "helpshort", "helpxml", "log_dir",
        "logger_levels", "logtostderr", "only_check_args", "pdb", "pdb_post_mortem",
        "profile_file", "run_with_pdb", "run_with_profiling", "showprefixforinfo",
        "stderrthreshold", "test_random_seed", "test_randomize_ordering_seed", "test_srcdir",
        "test_tmpdir", "undefok", "use_cprofile_for_profiling", "v", "verbosity",
        "xml_output_file",
    )
)  # fmt: skip

# Packages that define no absl flag and no click option at import, like the standard library.
PLAIN_PACKAGES = frozenset(
    (
        "ConfigParser", "PIL", "Queue", "StringIO", "__builtin__", "absl", "attr", "bs4",
        "cPickle", "cStringIO", "click", "cloudpickle", "colorama", "commands", "cv2", "fire",
        "future", "gensim", "google", "grpc", "h5py", "httplib", "imageio", "jieba", "joblib",
        "keras", "librosa", "lmdb", "lxml", "matplotlib", "moviepy", "moxing", "msgpack",
        "mxnet", "nltk", "numpy", "onnx", "pandas", "past", "pkg_resources", "prettytable",
        "psutil", "pyarrow", "pycocotools", "pylab", "redis", "requests", "scipy", "seaborn",
        "setuptools", "simplejson", "six", "skimage", "sklearn", "tabulate", "tensorboard",
        "tensorboardX", "tensorflow", "termcolor", "tf_slim", "torch", "torchvision", "tqdm",
        "ujson", "urllib2", "urllib3", "urlparse", "xgboost", "yaml",
    )
)  # fmt: skip


_PARSERS = ("argparse.ArgumentParser", "optparse.OptionParser")
_IS_PARSER = re.compile(r"\w*(ArgumentParser|ArgParser|OptionParser)")
# Code that names one of these may read or change the arguments in any way.
_BY_HAND = frozenset(("getopt", "docopt", "runpy", "execfile"))
_OTHERS = ("absl.app.", "click.", "fire.")
_DYNAMIC_CALLS = frozenset(("exec", "add_subparsers", "DEFINE", "DEFINE_flag"))


@dataclass(frozen=True)
class ScriptParameters:
    """The parameters of a script.

    ``shown`` are those that the script defines. ``known`` are all names that are accepted.
    ``strict``: the parser ends the script at an unknown argument. ``place`` is the file and line
    of the parsing call, ``parser`` the name of the parser.
    """

    parser: str
    place: str
    strict: bool
    shown: tuple[str, ...]
    known: frozenset[str] = field(default=frozenset(), repr=False)

    def accepts(self, name: str) -> bool:
        """Return True if the script defines the parameter or may define it."""
        if name in self.known:
            return True
        if self.parser in ("argparse", "optparse"):  # these accept abbreviated names
            return any(each.startswith(name) for each in self.known)
        if self.parser == "fire":
            plain = name.replace("-", "_")
            return plain in self.known or any(each[:1] == plain for each in self.known)
        return name.startswith("no") and name[2:] in self.known


def read_parameters(texts: Mapping[str, str], entry: str) -> ScriptParameters | None:
    """Return the parameters that the code defines, or None if they cannot be read completely.

    ``texts`` are all Python files of the code; ``entry`` is a file or a dotted module.
    """
    reached = follow(entry, texts.get)
    if not reached or any("\ufffd" in text for text in reached.values()):
        return None
    first = next(iter(reached))
    files = [CodeFile(name, text, name == first) for name, text in reached.items()]
    try:
        return _CodeFiles(files, texts).parameters()
    except _Unreadable:
        return None


class _Unreadable(Exception):
    """The definitions cannot be read completely."""


@dataclass(frozen=True)
class _Parsing:
    parser: str
    place: str
    strict: bool


class _CodeFiles:
    def __init__(self, files: list[CodeFile], texts: Mapping[str, str]) -> None:
        self._files = files
        self._texts = texts
        self._own = {part.removesuffix(".py") for name in texts for part in name.split("/")}
        self._defined = {name for file in files for name in file.functions}

    def parameters(self) -> ScriptParameters | None:
        self._refuse_dynamic()
        found = [parsing for file in self._files for parsing in self._parsings(file)]
        if not found:
            return None
        # A strict parser rejects arguments that the others accept. argparse is tolerant if the
        # code has both kinds of calls.
        tolerant = {each.parser for each in found if not each.strict}
        strict = [each for each in found if each.strict and each.parser not in tolerant]
        chosen = (strict or found)[0]
        if any(each.parser in ("flags", "absl", "click") for each in found):
            self._refuse_packages()
        shown = sorted({name for file in self._files for name in self._names(file)})
        known = {*shown, "help", "version", *ABSL}
        reached = {file.name: file for file in self._files}
        for name, text in self._texts.items():
            file = reached.get(name) or CodeFile(name, text, is_entry=False)
            known.update(literal_names(file.calls))
        if any("moxing" in text for text in self._texts.values()):
            known |= MOXING
        return ScriptParameters(
            chosen.parser, chosen.place, chosen.strict, tuple(shown), frozenset(known)
        )

    def _imports(self) -> Iterator[tuple[str, Import]]:
        return ((found.path, found) for file in self._files for found in file.imports)

    def _refuse_packages(self) -> None:
        """Raise _Unreadable if an installed package may define flags or options of its own."""
        for path, found in self._imports():
            top = path.partition(".")[0]
            plain = top in PLAIN_PACKAGES or top in sys.stdlib_module_names or top in self._own
            if not plain and not found.level:
                raise _Unreadable
        names = {call.last for file in self._files for call in file.calls}
        if names & {"import_module", "__import__"}:
            raise _Unreadable

    def _refuse_dynamic(self) -> None:
        calls = [(file, call) for file in self._files for call in file.calls]
        parsing = {parsing_function(f, c) for f, c in calls if c.last in (*STRICT, *TOLERANT)} - {
            ""
        }
        for file in self._files:
            if not file.words:
                continue
            for path in (found.path for found in file.imports):
                if path == "sys.argv" or _BY_HAND & set(path.split(".")):
                    raise _Unreadable
            for at, word in enumerate(file.words):
                if word.kind == "name" and _BY_HAND & set(word.text.split(".")):
                    raise _Unreadable
                if word.text == "sys.argv" and not is_usual(file.words, at, parsing):
                    raise _Unreadable
                if word.text == "SystemExit" and file.words[at - 1].text != "raise":
                    raise _Unreadable  # the code may catch the error of a parser
            for call in file.calls:
                self._refuse_call(file, call)
            for _, parents in bases(file.words):
                if any(_IS_PARSER.fullmatch(last_part(parent)) for parent in parents):
                    raise _Unreadable  # a subclass may override anything

    def _refuse_call(self, file: CodeFile, call: Call) -> None:
        if call.last in _DYNAMIC_CALLS:
            raise _Unreadable
        if _IS_PARSER.fullmatch(call.last):
            unsupported = {"parents", "prefix_chars", "option_list"} & set(call.keywords)
            if unsupported or call.starred or file.path(call) not in _PARSERS:
                raise _Unreadable
        passed = [*call.positional, *call.keywords.values()]
        if call.last not in self._defined and any(is_parser(each) for each in passed):
            raise _Unreadable  # a function of a package may add arguments

    def _names(self, file: CodeFile) -> Iterator[str]:
        """Yield the long parameter names that a file defines. Raises: _Unreadable."""
        for call in file.calls:
            names = list(names_defined_by(call, file.path(call)))
            if None in names or (names and call.starred):
                raise _Unreadable
            yield from (name for name in names if name)
        yield from self._fire_names(file)

    def _fire_names(self, file: CodeFile) -> Iterator[str]:
        for call in file.calls:
            if file.path(call) != "fire.Fire":
                continue
            target = call.positional[0] if call.positional else call.keywords.get("component", ())
            name = target[0].text if len(target) == 1 else ""
            if name not in file.functions or is_decorated(file.words, name):
                raise _Unreadable
            for argument in file.functions[name]:
                if [word.text for word in argument[:2]] == ["*", "*"]:
                    raise _Unreadable
                if argument[0].kind == "name":
                    yield argument[0].text

    def _parsings(self, file: CodeFile) -> Iterator[_Parsing]:
        others = [other for other in self._files if other is not file]
        called = {call.last for other in others for call in other.calls}
        has_parser = any(_IS_PARSER.fullmatch(c.last) for f in self._files for c in f.calls)
        for call in file.calls:
            path, place = file.path(call), f"{file.name}:{call.line}"
            parses = call.last in (*STRICT, *TOLERANT) and self._is_method(file, call)
            about = parses or FLAG.fullmatch(call.last) or path.startswith(_OTHERS)
            if not about or not file.runs(call.line, called):
                continue
            if parses:
                known = has_parser or call.last in self._defined
                if not known or not self._reads_all_arguments(file, call):
                    raise _Unreadable
                yield _Parsing("argparse", place, call.last in STRICT)
            elif FLAG.fullmatch(call.last):
                yield _Parsing("flags", place, strict=False)
            elif path == "absl.app.run":
                if call.keywords.keys() & {"argv", "flags_parser"} or len(call.positional) > 1:
                    raise _Unreadable
                yield _Parsing("absl", place, strict=True)
            elif path == "click.command":
                if "cls" in call.keywords or call.starred:
                    raise _Unreadable
                tolerant = {"ignore_unknown_options", "allow_extra_args"}
                words = {word.text.strip("'\"") for word in file.words}
                yield _Parsing("click", place, not tolerant & words)
            elif path in ("click.group", "click.Group", "click.Command", "click.MultiCommand"):
                raise _Unreadable
            elif path == "fire.Fire":
                yield _Parsing("fire", place, strict=True)

    def _reads_all_arguments(self, file: CodeFile, call: Call) -> bool:
        function = parsing_function(file, call)
        if not function:
            return reads_command_line(call)
        callers = [each for f in self._files for each in f.calls if each.last == function]
        return bool(callers) and all(map(reads_command_line, callers))

    def _is_method(self, file: CodeFile, call: Call) -> bool:
        """Return True if the call is on an object, and not of a function of any module."""
        first, dot, _ = call.name.partition(".")
        return call.of or (bool(dot) and first not in file.aliases and first not in self._own)
