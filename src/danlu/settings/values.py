"""Functions that read one value of a setting from a flag, a variable or a file.

Every function raises TypeError or ValueError for an invalid value.
"""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MAX_BYTES = 1 << 63  # the largest size of a file or disk that kernels support


class Secret(str):
    """Text that is never displayed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "***"

    @property
    def shown(self) -> str:
        """The text that is displayed instead."""
        return "***" if self else ""


class SecretUrl(Secret):
    """A URL that is displayed without its password."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self.shown)

    @property
    def shown(self) -> str:
        return hidden_url(self)


def hidden_url(url: str) -> str:
    """Return a URL with *** for every password in it."""
    begin, mark, rest = url.partition("://")
    # Search the last @ before the path, as libpq does, or before the question mark. This also hides
    # a password with an unescaped @, / or ?.
    end = max(rest.partition(sign)[0].rfind("@") for sign in "/?") + 1
    user, colon, _ = rest[:end].partition(":")
    host, asked, query = rest[end:].partition("?")
    query = re.sub(r"(?i)((?:^|&)(?=[^=&]*password)[^=&]*=)[^&]*", r"\1***", query)
    return f"{begin}{mark}{user}{':***@' if colon else ''}{host}{asked}{query}"


def without_password(value: Any) -> Any:
    """Return a value unchanged. Raises ValueError for a URL that contains a password."""
    if isinstance(value, str) and not isinstance(value, Secret) and hidden_url(value) != value:
        raise ValueError("a password")
    return value


def shown(value: Any) -> Any:
    """Return a given value for an error message, without passwords."""
    return hidden_url(value) if isinstance(value, str) else value


def size(value: Any) -> int:
    """Return bytes from a number or from text such as '512M' or '2 GiB'."""
    if isinstance(value, bool):
        raise TypeError(value)
    if isinstance(value, int | float):
        return _bytes(number(value))
    written = r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(?:i?B)?"
    match = re.fullmatch(written, text(value).strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(value)
    return _bytes(float(match[1]) * _UNITS[match[2].upper()])


def _bytes(amount: float) -> int:
    if amount >= _MAX_BYTES:
        raise ValueError(amount)
    return int(amount)


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def secret(value: Any) -> Secret:
    return Secret(text(value))


def records_url(value: Any) -> SecretUrl:
    url = text(value)
    if url and not url.startswith(("postgresql://", "postgres://")):
        raise ValueError(value)
    return SecretUrl(url)


def path(value: Any) -> Path:
    if value == "":
        raise ValueError(value)
    return Path(value if isinstance(value, Path) else text(value)).expanduser().absolute()


def number(value: Any) -> float:
    try:
        read = float(value)
    except OverflowError:
        raise ValueError(value) from None
    if isinstance(value, bool) or not 0 <= read < math.inf:
        raise ValueError(value)
    return read


def some_time(value: Any) -> float:
    """Return seconds, at least 0.01."""
    read = number(value)
    if read < 0.01:
        raise ValueError(value)
    return read


def count(value: Any) -> int:
    read = number(value)
    if read != int(read):
        raise ValueError(value)
    return int(read)


def port(value: Any) -> int:
    read = count(value)
    if read > 65535:
        raise ValueError(value)
    return read


def address(value: Any) -> str:
    """Return HOST:PORT, or an empty text."""
    given = text(value)
    found = re.fullmatch(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})", given)
    if given and (found is None or not 0 < int(found[1]) < 65536):
        raise ValueError(value)
    return given


def switch(value: Any) -> bool:
    word = str(value).lower() if isinstance(value, bool) else text(value).lower()
    if word not in ("1", "true", "yes", "0", "false", "no"):
        raise ValueError(value)
    return word in ("1", "true", "yes")


def one_of(*names: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in names:
            raise ValueError(value)
        return str(value)

    return check


def warm(value: Any) -> str:
    """Return 'auto', 'off' or a digit."""
    number = str(value) if isinstance(value, int) and not isinstance(value, bool) else text(value)
    if number not in ("auto", "off", *"123456789"):
        raise ValueError(value)
    return number


def texts(value: Any) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    return tuple(text(word).strip() for word in words if word)
