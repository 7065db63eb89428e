"""A data set: a name for a place in a store, and what lay there when the version was made."""

from dataclasses import dataclass

SCHEME = "dataset://"


@dataclass(frozen=True)
class Contents:
    """``digest`` is over path, size and etag of every object: it changes when one of them does."""

    files: int
    size: int
    digest: str


@dataclass(frozen=True)
class Dataset:
    """One version. It points at data and holds none: what changes there changes for everybody."""

    name: str
    version: int
    created: float
    uri: str
    contents: Contents
    description: str = ""

    @property
    def title(self) -> str:
        return f"{self.name}:{self.version}"
