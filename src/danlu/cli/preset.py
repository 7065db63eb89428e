"""A job of a preset model: what a person wrote, as a request that needs no code."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from danlu.cli.evidence import Evidence
from danlu.cli.fields import choose
from danlu.cli.request import with_places
from danlu.errors import Refused, suggestion
from danlu.words import say


def compose(fields: Mapping[str, Any], base: Path | None = None) -> dict[str, Any]:
    """Return the request. Paths are relative to ``base``.

    The manual gives places as running parameters: they are taken as what they are.

    Raises:
        Refused: there is no preset model of this name, or a field belongs to another service.
    """
    from danlu.job import presets

    name = fields["preset"]
    if name not in (*presets.NAMES, *presets.UNPUBLISHED):
        sentence = say("preset.unknown", name=repr(name))
        raise Refused(sentence, hint=suggestion(str(name), presets.NAMES))
    given = [field for field, value in fields.items() if value]
    chosen = choose(given, str(fields.get("dialect") or ""), lambda: Evidence("dls", ""))
    request = {**fields, "dialect": chosen.dialect}
    parameters = fields.get("parameters")
    if isinstance(parameters, Mapping):
        places = {key: parameters[key] for key in presets.CHANNELS if key in parameters}
        rest = {key: value for key, value in parameters.items() if key not in places}
        request = {**places, **request, "parameters": rest}
    return with_places(request, base)
