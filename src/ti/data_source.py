"""Input and output locations as objects, which ``fit`` accepts in addition to strings."""

from dataclasses import dataclass

from danlu.errors import Unsupported
from danlu.messages import get_message
from ti.exceptions import InvalidArguments


@dataclass(frozen=True)
class CosInput:
    """Data below a URI. Every instance receives all of it."""

    cos_data: str
    distribution: str = "FullyReplicated"
    cos_data_type: str = "COSPrefix"

    def __post_init__(self) -> None:
        if self.distribution != "FullyReplicated":
            sentence = get_message("ti.replicated", distribution=self.distribution)
            raise InvalidArguments([("distribution", sentence)])
        if self.cos_data_type != "COSPrefix":
            sentence = get_message("ti.cos_prefix", cos_data_type=self.cos_data_type)
            raise InvalidArguments([("cos_data_type", sentence)])


@dataclass(frozen=True)
class FileInput:
    """A local folder or file, given by its ``file://`` URI."""

    file_uri: str


class FileSystemInput:
    """A network file system of the service. It is not supported."""

    def __init__(self, *_: object, **__: object) -> None:
        raise Unsupported.from_key("ti.no_file_system_input")


class FileSystemOutput:
    """A network file system of the service. It is not supported."""

    def __init__(self, *_: object, **__: object) -> None:
        raise Unsupported.from_key("ti.no_file_system_output")
