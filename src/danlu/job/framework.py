"""Versions of TensorFlow: how jobs name them, and what a script sees where nobody says."""

import re

TENSORFLOW_1 = "1.15.5"
TENSORFLOW_2 = "2.15.0"  # the last one that came with Keras 2
UNDECIDED = "auto"  # until the code has been looked at
NOT_OURS = "none"  # the user's word for: leave TensorFlow alone

# Services wrote them in several ways: '1.14', 'TF-1.13.1-python3.6', 'tensorflow 2.1.0'.
_VERSION = re.compile(
    r"(?:(?:tf|tensorflow)[-_ ]?)?([12])(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?(?:rc\d+|[-+_ ].*)?",
    re.IGNORECASE,
)


def parse(text: str) -> str | None:
    """Return a version in full, '1.14' as '1.14.0'; None for what names no TensorFlow 1 or 2."""
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        return None
    major, minor, patch = found.groups()
    if minor is None:
        return TENSORFLOW_1 if major == "1" else TENSORFLOW_2
    return f"{major}.{int(minor)}.{int(patch or 0)}"


def is_first(version: str) -> bool:
    """Tell whether a script of this version has the names and the graphs of TensorFlow 1."""
    return version.startswith("1.")
