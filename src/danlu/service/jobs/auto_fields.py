"""Fields of a job that are decided from its code, and the check of its parameters.

The fields are the code folder, the channels passed as URLs and the TensorFlow version.
"""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from danlu import dialects
from danlu.dialects import dls
from danlu.errors import find_similar
from danlu.job import modelmaker
from danlu.job.spec import UNDECIDED, JobSpec, is_first
from danlu.messages import get_message
from danlu.messages.text import size as size_text
from danlu.service.diagnosis.arguments import SERVICE_ARGUMENTS
from danlu.service.jobs.locations import Source
from danlu.usercode import channel_use, tensorflow_version
from danlu.usercode.calls import calls, literal, signatures, tokens
from danlu.usercode.parameters import ScriptParameters, read_parameters

_AUTO = "auto"
_LARGE = 10_000_000  # bytes: the limit of a code directory of DLS (manual, 2.4)


def resolve_auto_fields(spec: JobSpec, source: Source) -> tuple[JobSpec, list[str]]:
    """Return the spec with all ``auto`` fields resolved, and one note for each decision."""
    options, notes = dict(spec.options), list[str]()
    if options.get("top") == _AUTO:
        options["top"], options["into"] = _layout(spec.entry, source)
    if options.get("urls") == _AUTO:
        options["urls"], notes = _urls(spec, source)
    if spec.dialect == dls.NAME and spec.code:
        left_out = _num_gpus(spec, source)
        if left_out:
            options["num_gpus"] = dls.NOT_DEFINED
            notes.append(left_out)
    settled = replace(spec, options=options)
    if spec.tensorflow == UNDECIDED:
        version, passed_as = _tensorflow(settled, source)
        settled = replace(settled, tensorflow=version)
        notes += passed_as
    return settled, [*notes, *_steps(settled), *_size(settled, source)]


def _layout(module: str, source: Source) -> tuple[str, str]:
    """Return the folder of the code to start in, and the folder to unpack the code into.

    Code is a folder with packages, such a folder inside another one (a source distribution), or
    a package without its enclosing folder.
    """
    first, _, rest = module.partition(".")
    if source.has_module(module):
        return "", ""
    if source.has_module(rest or "__main__") and not source.has_module(module, source.top):
        return "", first
    return source.top, ""


def _urls(spec: JobSpec, source: Source) -> tuple[str, list[str]]:
    """Return the channels to pass as URLs, and notes; ``file:`` URIs are always passed as paths."""
    places = {**spec.inputs, **spec.outputs}
    remote = {name: uri for name, uri in places.items() if not uri.startswith("file:")}
    # Third-party dialects may not define OUTPUTS_AS_URLS.
    as_urls = getattr(dialects.get(spec.dialect), "OUTPUTS_AS_URLS", False)
    outputs = [name for name in remote if as_urls and name in spec.outputs]
    found = channel_use.find(source.texts, [name for name in remote if name not in outputs])
    written = channel_use.find_outputs(source.texts, outputs)
    urls = {*found.urls, *written.urls}
    notes = []
    for name, reason in {**(found.reasons or {}), **(written.reasons or {})}.items():
        key = "note.as_url" if name in urls else "note.as_directory"
        notes.append(get_message(key, name=name, uri=remote[name], reason=reason))
    # The notes refer to code, which a preset model does not have.
    return ",".join(name for name in places if name in urls), notes if spec.code else []


def _num_gpus(spec: JobSpec, source: Source) -> str:
    """Return why ``--num_gpus`` is left out; "" if it is passed, as on the service."""
    if "num_gpus" in dict(spec.params) or not source.texts:
        return ""
    found = read_parameters(source.texts, spec.entry)
    if found is None or not found.strict or found.accepts("num_gpus"):
        return ""
    return get_message("note.num_gpus", place=found.place)


def _tensorflow(spec: JobSpec, source: Source) -> tuple[str, list[str]]:
    """Return the TensorFlow version and notes.

    The service decides if it had one TensorFlow version only, else the code.
    """
    inside = source.inside(spec.options)
    texts = {inside(name): text for name, text in source.texts.items()}
    found = tensorflow_version.find(texts, spec.entry)
    # Third-party dialects may not define TENSORFLOW.
    fixed = str(getattr(dialects.get(spec.dialect), "TENSORFLOW", ""))
    if found.sign is None:
        return fixed, []  # the code does not use TensorFlow: no note
    reason = get_message("version.dialect", dialect=spec.dialect) if fixed else _reason(found)
    version = fixed or found.version
    # No hint to change the version if the signs agree or the service fixes it.
    guessed = found.guessed and not fixed
    key = "note.tensorflow_guessed" if guessed else "note.tensorflow"
    return version, [get_message(key, version=version, reason=reason)]


def _reason(found: tensorflow_version.DetectedVersion) -> str:
    assert found.sign is not None
    place = f"{found.sign.file}:{found.sign.line}"
    return get_message(f"version.{found.why}", place=place, name=found.sign.shown)


def _steps(spec: JobSpec) -> list[str]:
    if not spec.max_steps:
        return []
    if is_first(spec.tensorflow):
        return [get_message("note.max_steps", max_steps=_counted(spec.max_steps))]
    if spec.tensorflow:
        return [get_message("note.max_steps_keras", max_steps=_counted(spec.max_steps))]
    return [get_message("note.no_steps_rehearsal" if spec.rehearsal else "note.no_steps")]


def _size(spec: JobSpec, source: Source) -> list[str]:
    """Return a note if the code directory is so large that most of it must be data."""
    if source.size <= _LARGE or spec.dialect not in ("dls", "modelarts"):
        return []
    name, size = source.largest
    values = {
        "size": size_text(source.size),
        "limit": size_text(_LARGE),
        "file": name,
        "file_size": size_text(size),
    }
    key = "note.large_code_dls" if spec.dialect == "dls" else "note.large_code"
    return [get_message(key, **values)]


def _counted(steps: int) -> str:
    return get_message("count.step" if steps == 1 else "count.steps", count=steps)


_MAX_SHOWN = 30
_TI_OWN = "ti_"  # such a hyperparameter is not passed to the script
_READ = re.compile(r"""params\s*(?:\[|\.(?:get|pop|setdefault)\(|\.has_key\()\s*u?['"](\w+)['"]""")
_WHOLE = re.compile(r"\*\*\s*(?:\w+\.)*params\b|\bparams\.(?:\w*items|\w*keys|\w*values|copy)\b")
_ITERATED = re.compile(r"\bin\s+(?:\w+\.)*params\s*[:\]\)]")
_PRINTS = ("print", "str", "repr", "info", "debug", "len", "isinstance")


def check_parameters(spec: JobSpec, source: Source) -> tuple[list[str], list[tuple[str, str]]]:
    """Return notes and faults for parameters that the script does not define.

    Returns neither if the Python files of the code were not all read.
    """
    given = {name: field for name, field in _given(spec) if name not in _own_names(spec)}
    python = {name for name in source.names if name.endswith(".py")}
    if not given or not source.texts or python - source.texts.keys():
        return [], []
    inside = source.inside(spec.options)
    texts = {inside(name): text for name, text in source.texts.items()}
    if spec.dialect == "modelmaker":
        return _modelmaker(given, texts), []
    found = read_parameters(texts, spec.entry)
    unknown = [name for name in given if found and not found.accepts(name)]
    if found is None or not unknown:
        return [], []
    if found.strict:
        return [], [(given[name], _fault(name, found)) for name in unknown]
    return [_note(name, found) for name in unknown], []


def _given(spec: JobSpec) -> Iterator[tuple[str, str]]:
    """Yield name and field of every parameter in the request."""
    for name, _ in spec.params:
        yield name, f"parameters.{name}"
    for word in shlex.split(spec.options.get("job_args", "")):
        if word == "--":
            return
        if re.match(r"--\w", word):
            yield word[2:].partition("=")[0], "job_args"


def _own_names(spec: JobSpec) -> Collection[str]:
    own = {*SERVICE_ARGUMENTS, *spec.inputs, *spec.outputs}
    if spec.dialect == "ti":
        own |= {name for name, _ in spec.params if name.startswith(_TI_OWN)}
    return own


def _fault(name: str, found: ScriptParameters) -> str:
    values = {"name": name, "parser": _parser(found), "near": _nearest(name, found.shown)}
    return get_message("fault.no_parameter", **values)


def _note(name: str, found: ScriptParameters) -> str:
    values = {"name": name, "parser": _parser(found), "near": _nearest(name, found.shown)}
    return get_message("note.no_parameter", **values)


def _parser(found: ScriptParameters) -> str:
    shown = {
        "argparse": "parse_args()" if found.strict else "parse_known_args()",
        "flags": "tf.flags",
        "absl": "absl",
    }.get(found.parser, found.parser)
    return shown if found.parser == "flags" else f"{shown} ({found.place})"


def _nearest(name: str, known: Sequence[str]) -> str:
    if not known:
        return get_message("fault.script_has_none")
    similar = find_similar(name, known)
    listed = ", ".join(known[:_MAX_SHOWN]) + (", …" if len(known) > _MAX_SHOWN else "")
    sentence = get_message("fault.script_has", names=listed)
    return f"{get_message('error.did_you_mean', name=similar)} {sentence}" if similar else sentence


def _modelmaker(given: Collection[str], texts: Mapping[str, str]) -> list[str]:
    """Return a note for each parameter that the four ModelMaker functions do not read.

    The functions receive a dictionary and ignore entries they do not read. A parameter counts as
    read if its name occurs in the code as a name, an attribute or a string.
    """
    words = {name: tokens(text) for name, text in texts.items()}
    functions = {name for each in words.values() for name, _ in signatures(each)}
    for name, text in texts.items():
        if "\ufffd" in text or _WHOLE.search(text) or _ITERATED.search(text):
            return []
        for call in calls(words[name]):
            passed = [*call.positional, *call.keywords.values()]
            if call.last not in {*functions, *_PRINTS} and any(
                len(each) == 1 and each[0].text.rpartition(".")[2] == "params" for each in passed
            ):
                return []  # the package that receives params may read any of them
    mentioned = {*modelmaker.DEFAULTS}
    for each in words.values():
        for word in each:
            mentioned.update(word.text.split(".") if word.kind == "name" else ())
            mentioned.add((literal((word,)) or "") if word.kind == "text" else "")
    shown = {found for text in texts.values() for found in _READ.findall(text)}
    known = sorted(shown | modelmaker.DEFAULTS.keys())
    return [
        get_message("note.parameter_not_read", name=name, near=_nearest(name, known))
        for name in given
        if name not in mentioned
    ]
