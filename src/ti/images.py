"""Images of the service, and which runtime of this machine stands in for each.

There are no containers here: an image is known by its name, and its tag says the version. A script
for an image that is not known can still run, once somebody says what it holds:

    ti.images.RUNTIMES["team/vision"] = "tensorflow:1.14"
"""

import re
from dataclasses import dataclass

from danlu.job import framework

# The name of an image, without its registry and tag, or a word of it -> framework[:version].
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
    """``version`` is that of the framework, empty where the image does not say."""

    framework: str
    version: str = ""
    python: str = "py3"

    @property
    def tensorflow(self) -> str:
        """The version of TensorFlow a script of this runtime sees, as a job says it."""
        if self.framework != "tensorflow":
            return framework.NOT_OURS
        return self.version or framework.UNDECIDED


def base_name(image: str) -> str:
    """Return the name jobs are called after: no registry, no tag."""
    return _parts(image)[0].rpartition("/")[2]


def runtime_of(image: str) -> Runtime | None:
    """Return what stands in for an image, or None where that is not known."""
    name, tag = _parts(image)
    known = next((RUNTIMES[word] for word in _words(name) if word in RUNTIMES), None)
    if known is None:
        return None
    kind, _, version = known.partition(":")
    found = _VERSION.match(tag)
    version = version or (found[0] if found else "")
    if kind == "tensorflow" and version and framework.parse(version) is None:
        return None  # of no generation that we have
    return Runtime(kind, version, "py2" if _PYTHON_2.search(tag) else "py3")


def refusal(image: str) -> str:
    """Return the sentence for an image without a runtime."""
    return (
        f"there are no containers here, and it is not known what {image!r} holds. Known are images "
        f"with one of these words in their name: {', '.join(sorted(RUNTIMES))}; the tag is the "
        f"version, as in 'tensorflow:1.14-py3'. For another, say what it holds: "
        f"ti.images.RUNTIMES[{_parts(image)[0]!r}] = 'tensorflow:1.14'."
    )


def _parts(image: str) -> tuple[str, str]:
    found = _IMAGE.fullmatch(image.strip())
    return (found["name"], found["tag"] or "") if found else (image, "")


def _words(name: str) -> list[str]:
    """Return what to look for, the most exact first: the whole name, its ends, its words."""
    parts = name.split("/")
    ends = ["/".join(parts[start:]) for start in range(len(parts))]
    return [*ends, *re.split(r"[-_.]", parts[-1].lower())]
