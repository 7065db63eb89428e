"""Names that left TensorFlow for good: each is refused with what to use instead.

Scripts ask ``hasattr`` and catch ImportError, so the refusals are these errors too.
"""

from danlu.errors import Unsupported
from danlu_runtime import notes


class GoneName(AttributeError, Unsupported):
    """An attribute that is not there any more."""

    def __init__(self, message: str) -> None:
        Unsupported.__init__(self, message)
        _tell(message)


class GoneModule(ImportError, Unsupported):
    """A module that is not there any more."""

    def __init__(self, message: str) -> None:
        Unsupported.__init__(self, message)
        _tell(message)


def _tell(message: str) -> None:
    """Note what the user's own code asks for; a library that only looks is not meant."""
    file, line = notes.caller()
    if file:
        notes.note("gone", message, file, line)


def sentence(name: str, instead: str) -> str:
    """Return the refusal; ``instead`` is one sentence on what to use."""
    return f"{name} is not in the TensorFlow of today. {instead}"
