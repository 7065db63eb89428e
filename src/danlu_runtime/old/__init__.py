"""Names that other libraries and Python itself have lost: who puts them back, and when.

``AFTER``: called with the module once it has been imported. ``SERVED``: modules that are gone,
and what is imported in their place; the real one is taken where it is there.
"""

from __future__ import annotations

AFTER: dict[str, str] = {}
SERVED: dict[str, str] = {}
