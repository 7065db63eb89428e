"""``cgi``, removed in Python 3.13: the functions that scripts used."""

import html
from email.message import Message
from urllib.parse import parse_qs, parse_qsl

__all__ = ["escape", "parse_header", "parse_qs", "parse_qsl"]


def escape(s: str, quote: bool = False) -> str:
    """Replace ``&``, ``<`` and ``>``, and quotation marks only if ``quote`` is set.

    ``html.escape`` replaces quotation marks by default.
    """
    return html.escape(s, quote)


def parse_header(line: str) -> tuple[str, dict[str, str]]:
    """Return value and parameters of a header such as ``text/html; charset=utf-8``."""
    message = Message()
    message["content-type"] = line
    parameters = message.get_params(unquote=True) or [("", "")]
    return parameters[0][0], {name.lower(): text for name, text in parameters[1:]}
