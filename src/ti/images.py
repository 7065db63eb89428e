"""Mapping of the service's container images to runtimes of this machine.

There are no containers here. An image is identified by its name, and its tag gives the version. To
run a script for an unknown image, add the framework of the image:

    ti.images.RUNTIMES["team/vision"] = "tensorflow:1.14"
"""

import re
from dataclasses import dataclass

from danlu.job import spec as framework
from danlu.messages import get_message

# Name of an image without registry and tag, or a word of the name -> framework[:version].
RUNTIMES: dict[str, str] = {
    "tensorflow": "tensorflow",
    "tf": "tensorflow",
    "pytorch": "pytorch",
    "torch": "pytorch",
    "sklearn": "sklearn",
    "scikit": "sklearn",
    "python": "python",
}

_IMAGE = re.compile(r"(?P<name>[^:@]*(?::\d+/[^:@]*)?)(?::(?P<tag>[^:@]+))?(?:@.+)?")
_VERSION = re.compile(r"\d+(?:\.\d+){0,2}")
_PYTHON_2 = re.compile(r"(?:^|[-_.])(?:py|python|cp)2")


@dataclass(frozen=True)
class Runtime:
    """The runtime that replaces an image.

    ``version`` is that of the framework; empty if the image does not specify it.
    """

    framework: str
    version: str = ""
    python: str = "py3"

    @property
    def tensorflow(self) -> str:
        """The TensorFlow version that a script sees, as a value of ``framework_version``."""
        if self.framework != "tensorflow":
            return framework.NOT_OURS
        return self.version or framework.UNDECIDED


def base_name(image: str) -> str:
    """Return the name of an image without registry and tag, as used in job names."""
    return _parts(image)[0].rpartition("/")[2]


def runtime_of(image: str) -> Runtime | None:
    """Return the runtime that replaces an image, or None if it is unknown."""
    name, tag = _parts(image)
    known = next((RUNTIMES[word] for word in _words(name) if word in RUNTIMES), None)
    if known is None:
        return None
    kind, _, version = known.partition(":")
    found = _VERSION.match(tag)
    version = version or (found[0] if found else "")
    if kind == "tensorflow" and version and framework.parse(version) is None:
        return None  # neither TensorFlow 1 nor 2
    return Runtime(kind, version, "py2" if _PYTHON_2.search(tag) else "py3")


def refusal(image: str) -> str:
    """Return the error message for an image without a runtime."""
    values = {"image": image, "names": ", ".join(sorted(RUNTIMES)), "name": _parts(image)[0]}
    return get_message("ti.unknown_image", **values)


def _parts(image: str) -> tuple[str, str]:
    found = _IMAGE.fullmatch(image.strip())
    return (found["name"], found["tag"] or "") if found else (image, "")


def _words(name: str) -> list[str]:
    """Return the keys to look up, most specific first: whole name, its suffixes, its words."""
    parts = name.split("/")
    ends = ["/".join(parts[start:]) for start in range(len(parts))]
    return [*ends, *re.split(r"[-_.]", parts[-1].lower())]
