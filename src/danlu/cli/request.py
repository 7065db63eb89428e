"""Conversion of command line arguments and job files to a request for the server."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import click

from danlu.cli.code import Code, guessed, is_uri, place, read_code, with_file, with_module
from danlu.cli.options import pairs, parameters
from danlu.cli.session import Session
from danlu.dialects.options import FIELDS, OPTIONS, OWNERS
from danlu.errors import NotFound, Refused, suggestion
from danlu.messages import get_message
from danlu.usercode.code_snapshot import CodeSnapshot
from danlu.usercode.service_detection import DetectedService, detect_service, has_four

F = TypeVar("F", bound=Callable[..., Any])

CHANNELS = ("data_url", "train_url", "checkpoint_url", "data", "output_path")
NAMED_CHANNELS = ("inputs", "outputs", "channels")  # a mapping of names, or one unnamed URI
OUTPUTS = ("train_url", "output_path", "outputs")


_TYPES = {"whole": int, "number": float}


def job_options(command: F) -> F:
    """Add an option for every field of a job that has one."""
    for field in reversed([field for field in FIELDS if field.flag and field.kind != "rest"]):
        word = field.flag.split()[-1].lstrip("-").replace("-", "_")
        given: dict[str, Any] = {"help": f"option.{word}", "metavar": field.metavar or None}
        if field.kind in _TYPES:
            given["type"] = _TYPES[field.kind]
        elif field.kind == "switch":
            given["is_flag"] = True
        elif field.kind in ("names", "pairs"):
            given["multiple"] = True
        else:
            given["default"] = ""
        command = click.option(*field.flag.split(), field.name, **given)(command)
    return command


def job_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a job from the values of its options.

    Raises:
        Refused: as :func:`pairs`.
    """
    fields = {}
    for field in FIELDS:
        if field.name not in options:
            continue
        value = options[field.name]
        if field.name == "parameters":
            value = parameters(value)
        elif field.kind == "pairs":
            value = pairs(field.flag.split()[-1], value)
        fields[field.name] = list(value) if field.kind == "names" else value
    return fields


def place_uri(text: str, base: Path | None = None) -> str:
    """Return ``text`` if it is a URI, or a local path as an absolute ``file://`` URI."""
    if not text or is_uri(text):
        return text
    # Not resolve(): a symbolic link keeps the name that the user gave.
    path = Path(os.path.abspath(Path(base or Path.cwd(), Path(text).expanduser())))
    return path.as_uri()


def output_uri(text: str, base: Path | None = None) -> str:
    """Return the URI of an output, like :func:`place_uri`.

    Placeholders such as ``{name}`` are kept; the server replaces them.
    """
    uri = place_uri(text, base)
    if "{" not in text:
        return uri
    from danlu.job.spec import unquoted

    return unquoted(uri, text)


def with_places(request: Mapping[str, Any], base: Path | None = None) -> dict[str, Any]:
    """Return the request with the local paths of its channels converted to URIs."""
    placed = dict(request)
    for name in (*CHANNELS, *NAMED_CHANNELS):
        to_uri = output_uri if name in OUTPUTS else place_uri
        if isinstance(placed.get(name), str):
            placed[name] = to_uri(placed[name], base)
        if isinstance(placed.get(name), Mapping):
            placed[name] = {
                key: to_uri(value, base) if isinstance(value, str) else value
                for key, value in placed[name].items()
            }
    return placed


def local_places(request: Mapping[str, Any]) -> list[Path]:
    """Return the local folders and files in the channels of a request."""
    return _local(request, (*CHANNELS, *NAMED_CHANNELS))


def check_apart(request: Mapping[str, Any], code: Path) -> None:
    """Check that no output of a request may replace the user's code.

    The outputs of a rehearsal are elsewhere. Those of TI are in a folder of the job.

    Raises:
        Refused: an output folder is the folder of the code, or contains it.
    """
    if request.get("rehearse"):
        return
    for output in _local(request, ("train_url", "outputs")):
        if code.resolve().is_relative_to(output.resolve()):
            raise Refused(
                get_message("run.output_around_code", output=output, code=code),
                hint=get_message("run.output_around_code.hint", folder=output / "output"),
            )


def _local(request: Mapping[str, Any], names: Sequence[str]) -> list[Path]:
    fields = [request.get(field) for field in names]
    named = [uri for field in fields if isinstance(field, Mapping) for uri in field.values()]
    uris = [*fields, *named]
    local = (uri for uri in uris if isinstance(uri, str) and uri.startswith("file://"))
    return [Path(unquote(uri.removeprefix("file://"))) for uri in local]


def secrets(names: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """Return the values of secrets from the environment ``env``, never from the command line.

    Raises:
        Refused: some are not set.
    """
    missing = [name for name in names if name not in env]
    if missing:
        listed = ", ".join(missing)
        raise Refused(
            get_message("secret.missing", names=listed),
            hint=get_message("secret.hint", name=missing[0]),
        )
    return {name: env[name] for name in names}


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value; the server fills in the defaults of the others."""
    return {name: value for name, value in fields.items() if value not in (None, "", {}, [], ())}


ENTRIES = ("boot_file", "module", "module_name", "entry_point", "model_file")
CODES = ("code", "code_dir", "trainer_uri", "source_dir")
_KNOWN = frozenset(name for owners in OWNERS.values() for name in owners)


def choose(
    fields: Collection[str], asked: str, look: Callable[[], DetectedService]
) -> DetectedService:
    """Return the dialect of a job: ``asked``, or else detected by its fields, or by its code.

    ``look`` detects it by the code.

    Raises:
        Refused: a field belongs to another dialect, or two dialects were detected.
    """
    if asked:
        chosen = DetectedService(asked, get_message("dialect.asked"))
    else:
        # Arguments after -- are possible with every dialect, so they do not indicate one.
        chosen = _by_fields([field for field in fields if field != "job_args"]) or look()
    _check(chosen, fields)
    return chosen


def entry_field(dialect: str) -> str:
    """Return the field of a dialect that names the file or module to start."""
    from danlu import dialects

    try:
        return dialects.entry_field(dialect)
    except NotFound:  # the dialect may be installed on the server only
        return "boot_file"


def _by_fields(fields: Iterable[str]) -> DetectedService | None:
    possible = set(_KNOWN)
    first = ""
    for field in fields:
        owners = OWNERS.get(field)
        if owners is None:
            continue
        if possible.isdisjoint(owners):
            raise Refused(
                get_message(
                    "field.two_services",
                    first=_spelt(first),
                    first_of=_listed(OWNERS[first]),
                    second=_spelt(field),
                    second_of=_listed(owners),
                )
            )
        if len(possible & set(owners)) < len(possible):
            first = field
        possible &= set(owners)
    if len(possible) == 1:
        return DetectedService(possible.pop(), get_message("dialect.by_field", field=_spelt(first)))
    return None


def _check(chosen: DetectedService, fields: Iterable[str]) -> None:
    if chosen.dialect not in _KNOWN:
        return  # a dialect plugin checks its own fields
    for field in fields:
        owners = OWNERS.get(field, (chosen.dialect,))
        if chosen.dialect in owners:
            continue
        hint = "field.words_hint" if field == "job_args" else "field.elsewhere.hint"
        raise Refused(
            get_message(
                "field.elsewhere",
                field=_spelt(field),
                owners=_listed(owners),
                dialect=chosen.dialect,
                why=chosen.why,
            ),
            hint=get_message(hint, owner=owners[0]),
        )


def _spelt(field: str) -> str:
    return OPTIONS.get(field, field)


def _listed(owners: Iterable[str]) -> str:
    return ", ".join(owners)


def compose_request(
    session: Session, path: str, fields: Mapping[str, Any], base: Path | None = None
) -> tuple[dict[str, Any], Code]:
    """Return the request without its code, and the code. Paths are relative to ``base``.

    Raises:
        Refused: a field belongs to another service, or the file to start is ambiguous.
    """
    code = place(path)
    seen = read_code(code)
    entry = _entry(fields)
    chosen = recognise(code, seen, fields)
    if not fields.get("dialect") and not session.json:
        session.screen.print_message("dialect.chosen", dialect=chosen.dialect, why=chosen.why)
    rest = {name: value for name, value in fields.items() if name not in (*ENTRIES, "dialect")}
    request = with_places({"dialect": chosen.dialect, **rest}, base)
    code = started(code, seen, entry, chosen.dialect)
    return request, code


def recognise(code: Code, seen: CodeSnapshot, fields: Mapping[str, Any]) -> DetectedService:
    """Return the service of a job, by its field ``dialect``, its other fields or its code.

    Raises:
        Refused: a field belongs to another service, or two services were detected.
    """
    entry = _entry(fields)
    given = [name for name, value in fields.items() if value]
    return choose(given, str(fields.get("dialect") or ""), lambda: _find(code, seen, entry))


def _entry(fields: Mapping[str, Any]) -> str:
    return next((str(fields[name]) for name in ENTRIES if fields.get(name)), "")


def _find(code: Code, seen: CodeSnapshot, entry: str) -> DetectedService:
    if code.folder is None and not code.packed:
        return DetectedService("modelarts", get_message("dialect.remote"))
    return detect_service(seen, entry or guessed(code))


def started(code: Code, seen: CodeSnapshot, entry: str, dialect: str) -> Code:
    """Return the code with the file or module that a job would start.

    Raises:
        Refused: it is missing or ambiguous.
    """
    field = entry_field(dialect)
    if field == "module":
        return with_module(code, entry, seen.names)
    if not entry and dialect == "modelmaker":
        # The model file is recognized by its four functions, not by its name.
        models = [name for name, text in seen.texts.items() if has_four(text)]
        if len(models) == 1 and (code.packed or Path(code.path).expanduser().is_dir()):
            return code._replace(boot_file=models[0])
    return with_file(code, entry, OPTIONS.get(field, "--boot-file"))


def compose_preset(fields: Mapping[str, Any], base: Path | None = None) -> dict[str, Any]:
    """Return the request for a preset model. Paths are relative to ``base``.

    The manual passes input and output locations as running parameters. They are converted to the
    corresponding fields.

    Raises:
        Refused: there is no preset model of this name, or a field belongs to another service.
    """
    from danlu.job import presets

    name = fields["preset"]
    if name not in (*presets.NAMES, *presets.NOT_BUILT):
        sentence = get_message("preset.unknown", name=repr(name))
        raise Refused(sentence, hint=suggestion(str(name), presets.NAMES))
    given = [field for field, value in fields.items() if value]
    chosen = choose(given, str(fields.get("dialect") or ""), lambda: DetectedService("dls", ""))
    request = {**fields, "dialect": chosen.dialect}
    parameters = fields.get("parameters")
    if isinstance(parameters, Mapping):
        places = {key: parameters[key] for key in presets.CHANNELS if key in parameters}
        rest = {key: value for key, value in parameters.items() if key not in places}
        request = {**places, **request, "parameters": rest}
    return with_places(request, base)


def load(path: Path) -> dict[str, Any]:
    """Return the fields of a job file.

    Raises:
        Refused: it cannot be read, is not TOML, or has no code, algorithm or preset model.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Refused(get_message("file.unreadable", path=str(path), why=error.strerror)) from None
    except UnicodeDecodeError:
        raise Refused(get_message("file.not_utf8", path=str(path))) from None
    job = _parse(text, path)
    named = [job[field] for field in CODES if field in job]
    if ("algorithm" in job or "preset" in job) and not named:
        return job
    if len(named) != 1 or not isinstance(named[0], str) or not named[0]:
        raise Refused(
            get_message("file.no_code", path=str(path)), hint=get_message("file.no_code.hint")
        )
    return job


def _parse(text: str, path: Path) -> dict[str, Any]:
    import tomllib

    try:
        job: dict[str, Any] = tomllib.loads(text, parse_float=_FloatText)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused(get_message("file.not_toml", path=str(path), why=str(error))) from None
    parameters = job.get("parameters")
    if isinstance(parameters, dict):
        job["parameters"] = {name: _as_written(value) for name, value in parameters.items()}
    version = job.get("framework_version")
    if isinstance(version, _FloatText):  # as text, because 1.10 is not 1.1
        job["framework_version"] = version.text
    return {name: _plain(value) for name, value in job.items()}


class _FloatText(float):
    """A float with its original text. A script must receive 1e-3 as 1e-3, not as 0.001."""

    text: str

    def __new__(cls, text: str) -> "_FloatText":
        number = super().__new__(cls, text)
        number.text = text
        return number


def _as_written(value: Any) -> Any:
    return value.text if isinstance(value, _FloatText) else value


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, _FloatText) else value
