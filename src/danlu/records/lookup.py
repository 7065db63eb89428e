"""How a person's reference becomes one job: what to say when none fits, or several do."""

import difflib
from collections.abc import Iterable, Sequence

from danlu.errors import Conflict, NotFound
from danlu.job.definition import CALLED, Reference

SHOWN = 5


def only(reference: str, fits: Sequence[tuple[str, str]], names: Iterable[str]) -> str:
    """Return the id of the only pair of id and name in ``fits``.

    Raises:
        NotFound: there is none, with the nearest of ``names``; or there are several.
    """
    if len(fits) == 1:
        return fits[0][0]
    if fits:
        listed = ", ".join(f"{name} ({job_id})" for job_id, name in fits[:SHOWN])
        more = " and more" if len(fits) > SHOWN else ""
        hint = f"Several begin so: {listed}{more}. Write more of one."
        raise NotFound("job", reference, hint=hint)
    near = difflib.get_close_matches(reference, names, n=1, cutoff=0.8)
    hint = "" if near else "See the jobs there are with: danlu ls"
    raise NotFound("job", reference, known=near, hint=hint)


def taken(name: str) -> Conflict:
    return Conflict(
        f"There is already a job named {name!r}.",
        hint=f"Choose another name, or remove the ended job with: danlu rm {name}",
    )


def no_definition(
    kind: str, name: str, version: int | None, versions: Sequence[int], names: Iterable[str]
) -> NotFound:
    """Return what to say of a definition that is not there."""
    asked = str(Reference(name, version))
    if versions:
        there = ", ".join(map(str, sorted(versions)))
        return NotFound(CALLED[kind], asked, hint=f"Its versions: {there}.")
    return NotFound(CALLED[kind], asked, known=(n for n in names if n != name))
