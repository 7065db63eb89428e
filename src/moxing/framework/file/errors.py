"""What mox.file raises: its own names, which are also what plain Python code catches."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from danlu.errors import DanluError, NotFound, Refused, StorageError

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Response:
    """What a store answered; of the embedded store, what a service would have."""

    status: int
    errorCode: str = ""  # spelt as scripts read it
    errorMessage: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"stat:{self.status} errorCode:{self.errorCode} errorMessage:{self.errorMessage}"


class MoxFileNotExistsException(FileNotFoundError):
    """Nothing is at this path."""


class MoxFileNameDuplicateException(FileExistsError):
    """Two objects want one path: a file where a directory must be."""


class _MoxFileBaseRespException(OSError):
    """An answer of a store that is no success; ``resp`` is that answer."""

    def __init__(self, *args: Any, resp: Response | None = None) -> None:
        super().__init__(*args)
        self.resp = resp or Response(500)


class MoxFileReadException(_MoxFileBaseRespException):
    """The bytes of an object stopped coming."""


class MoxFileRespException(_MoxFileBaseRespException):
    """The store refused."""


class NoSuchObject(MoxFileRespException, MoxFileNotExistsException):
    """Nothing is at this path of a store: caught by either name, as scripts have both."""


_STATUS = {"WrongKey": 403, "NoPermission": 403, "NoBucket": 404, "Unreachable": 503}


@contextlib.contextmanager
def translating() -> Iterator[None]:
    """Let what is raised below be what MoXing raises."""
    try:
        yield
    except _MoxFileBaseRespException:
        raise
    except FileNotFoundError as error:
        raise _missing(error) from None
    except (StorageError, Refused, NotFound) as error:
        raise refusal(error) from error


def translated(function: F) -> F:
    """Decorate a function of mox.file: it raises by MoXing's names."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with translating():
            return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def refusal(error: DanluError) -> OSError:
    """Return what MoXing raises where a store refused."""
    name = type(error).__name__
    status = _STATUS.get(name, 400 if isinstance(error, Refused) else error.http_status)
    return MoxFileRespException(str(error), resp=Response(status, name, error.message))


def _missing(error: FileNotFoundError) -> OSError:
    if isinstance(error, MoxFileNotExistsException):
        return error
    name = error.filename
    if isinstance(name, str) and "://" in name:
        answer = Response(404, "NoSuchKey", f"Nothing is at {name}.", "Not Found")
        return NoSuchObject(*error.args, name, resp=answer)
    return MoxFileNotExistsException(*error.args[:2], name)
