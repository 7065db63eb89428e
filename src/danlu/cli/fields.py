"""Which service has which field of a job: what belongs to another one is refused by its name."""

from collections.abc import Callable, Collection, Iterable, Mapping

from danlu.cli.evidence import Evidence
from danlu.errors import NotFound, Refused
from danlu.words import say

_HUAWEI = ("modelarts", "dls")
# Field, the option that fills it, the services that have it.
_FIELDS = (
    ("boot_file", "--boot-file", (*_HUAWEI, "ti", "modelmaker")),
    ("data_url", "--data-url", _HUAWEI),
    ("train_url", "--train-url", _HUAWEI),
    ("urls", "--urls", _HUAWEI),
    ("preset", "--preset", ("dls",)),
    ("checkpoint_url", "--checkpoint-url", ("dls",)),
    ("inputs", "--input", ("modelarts", "ti")),
    ("outputs", "--output", ("modelarts", "modelmaker")),
    ("predownload", "--predownload", ("modelarts",)),
    ("from_environment", "", ("modelarts",)),
    ("working_dir", "", ("modelarts",)),
    ("module", "--module", ("kdl",)),
    ("module_name", "", ("kdl",)),
    ("trainer_uri", "", ("kdl",)),
    ("raw_job_name", "", ("kdl",)),
    ("flavor_id", "", ("kdl",)),
    ("job_args", "-- ARGS", ("kdl",)),
    ("prepare_command", "--prepare", ("kdl",)),
    ("finish_command", "--finish", ("kdl",)),
    ("worker_count", "--worker-count", ("kdl",)),
    ("ps_count", "--ps-count", ("kdl",)),
    ("entry_point", "--entry-point", ("ti",)),
    ("source_dir", "", ("ti",)),
    ("channels", "--channel", ("ti",)),
    ("output_path", "--output-path", ("ti",)),
    ("distributions", "", ("ti",)),
    ("model_file", "", ("modelmaker",)),
    ("data", "--data", ("modelmaker",)),
)
OWNERS: Mapping[str, tuple[str, ...]] = {field: owners for field, _, owners in _FIELDS}
OPTIONS: Mapping[str, str] = {field: option for field, option, _ in _FIELDS if option}
ENTRIES = ("boot_file", "module", "module_name", "entry_point", "model_file")
CODES = ("code", "code_dir", "trainer_uri", "source_dir")
_KNOWN = frozenset(name for owners in OWNERS.values() for name in owners)


def choose(fields: Collection[str], asked: str, look: Callable[[], Evidence]) -> Evidence:
    """Return the dialect of a job: the one asked for, else by its fields, else by its code.

    Raises:
        Refused: a field belongs to another dialect, or there are signs of two.
    """
    if asked:
        chosen = Evidence(asked, say("dialect.asked"))
    else:
        # Words after -- may be meant for any script: they are no sign.
        chosen = _by_fields([field for field in fields if field != "job_args"]) or look()
    _check(chosen, fields)
    return chosen


def entry_field(dialect: str) -> str:
    """Return the field in which a dialect is told what to start."""
    from danlu import dialects

    try:
        return dialects.entry_field(dialect)
    except NotFound:  # the server may have it installed
        return "boot_file"


def _by_fields(fields: Iterable[str]) -> Evidence | None:
    possible = set(_KNOWN)
    first = ""
    for field in fields:
        owners = OWNERS.get(field)
        if owners is None:
            continue
        if possible.isdisjoint(owners):
            raise Refused(
                say(
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
        return Evidence(possible.pop(), say("dialect.by_field", field=_spelt(first)))
    return None


def _check(chosen: Evidence, fields: Iterable[str]) -> None:
    if chosen.dialect not in _KNOWN:
        return  # one that was installed knows its own fields
    for field in fields:
        owners = OWNERS.get(field, (chosen.dialect,))
        if chosen.dialect in owners:
            continue
        hint = "field.words_hint" if field == "job_args" else "field.elsewhere.hint"
        raise Refused(
            say(
                "field.elsewhere",
                field=_spelt(field),
                owners=_listed(owners),
                dialect=chosen.dialect,
                why=chosen.why,
            ),
            hint=say(hint, owner=owners[0]),
        )


def _spelt(field: str) -> str:
    return OPTIONS.get(field, field)


def _listed(owners: Iterable[str]) -> str:
    return ", ".join(owners)
