"""Where data comes from and goes to, as objects: what ``fit`` takes beside plain text."""

from dataclasses import dataclass

from danlu.errors import Unsupported
from ti.exceptions import InvalidArguments

_HINT = "Mount it yourself and name its folder: file:///mnt/data"


@dataclass(frozen=True)
class CosInput:
    """Data below a URI; every instance gets all of it."""

    cos_data: str
    distribution: str = "FullyReplicated"
    cos_data_type: str = "COSPrefix"

    def __post_init__(self) -> None:
        if self.distribution != "FullyReplicated":
            sentence = f"must be 'FullyReplicated', got {self.distribution!r}."
            raise InvalidArguments([("distribution", sentence)])
        if self.cos_data_type != "COSPrefix":
            sentence = f"must be 'COSPrefix', got {self.cos_data_type!r}."
            raise InvalidArguments([("cos_data_type", sentence)])


@dataclass(frozen=True)
class FileInput:
    """A folder or a file of this machine, by its ``file://`` URI."""

    file_uri: str


class FileSystemInput:
    """A network file system of the service's. There is none here."""

    def __init__(self, *_: object, **__: object) -> None:
        raise Unsupported("FileSystemInput (network file systems) is not there.", hint=_HINT)


class FileSystemOutput:
    """A network file system of the service's. There is none here."""

    def __init__(self, *_: object, **__: object) -> None:
        raise Unsupported("FileSystemOutput (network file systems) is not there.", hint=_HINT)
