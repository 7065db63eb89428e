"""One thing that was read otherwise than it is written."""

from typing import NamedTuple


class Finding(NamedTuple):
    line: int  # as the user's editor counts
    text: str
    kind: str = "repaired"  # or "mapped": a name that has another place now
