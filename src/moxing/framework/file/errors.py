"""The exceptions of ``mox.file``, all subclasses of ``OSError``, and the translation to them."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from danlu.errors import DanluError, NotFound, Refused, StorageError

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Response:
    """The response of an object store; for the embedded store, the one a service would send."""

    status: int
    errorCode: str = ""  # the spelling that scripts use
    errorMessage: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"stat:{self.status} errorCode:{self.errorCode} errorMessage:{self.errorMessage}"


class MoxFileNotExistsException(FileNotFoundError):
    """Nothing is at this path."""


class MoxFileNameDuplicateException(FileExistsError):
    """Two objects want one path: a file where a directory must be."""


class _MoxFileBaseRespException(OSError):
    """An unsuccessful response of a store; ``resp`` is the response."""

    def __init__(self, *args: Any, resp: Response | None = None) -> None:
        super().__init__(*args)
        self.resp = resp or Response(500)


class MoxFileReadException(_MoxFileBaseRespException):
    """The bytes of an object stopped coming."""


class MoxFileRespException(_MoxFileBaseRespException):
    """The store refused."""


class NoSuchObject(MoxFileRespException, MoxFileNotExistsException):
    """No object exists at this path of a store.

    Scripts catch either of the two base classes.
    """


_STATUS = {"WrongKey": 403, "NoPermission": 403, "NoBucket": 404, "Unreachable": 503}


@contextlib.contextmanager
def translating() -> Iterator[None]:
    """Translate storage errors and ``FileNotFoundError`` into the exceptions of MoXing."""
    try:
        yield
    except _MoxFileBaseRespException:
        raise
    except FileNotFoundError as error:
        raise _missing(error) from None
    except (StorageError, Refused, NotFound) as error:
        raise refusal(error) from error


def translated(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of ``mox.file`` to raise the exceptions of MoXing."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with translating():
            return function(*args, **kwargs)

    return call


def refusal(error: DanluError) -> OSError:
    """Return the exception of MoXing for an error of a store."""
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
