"""``cgi``, which left Python with 3.13: what scripts took from it."""

from html import escape
from urllib.parse import parse_qs, parse_qsl

__all__ = ["escape", "parse_qs", "parse_qsl"]
