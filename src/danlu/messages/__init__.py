"""Texts for users in English and Chinese: one catalogue of dotted keys.

Everything a person reads comes from here: errors and their hints, lines of the log that begin with
``[danlu]``, notes, help and progress. ``en.json`` and ``zh.json`` have the same keys and
placeholders. Three kinds of text are not here: texts that must equal those of TensorFlow, Keras,
MoXing or the TI SDK; records of the ``logging`` module, which are for operators; and errors that
only a fault of Danlu causes (``ValueError``, ``AssertionError``).

A text is made in the language of its reader as far as that is known where the text is made:

- The command line and the TI SDK use the setting ``lang``, else the locale.
- The client sends its language with every request (``Accept-Language``). The server answers that
  request in it: errors, faults and the notes that are stored with the job.
- Other texts are in the language of their process: that of the server's setting or locale. Agents
  have the language of their server. A script and its processes get it in ``DANLU_LANG``.
- The cause and the hint of a failure are sent in both languages. A detail in them, such as the
  error of an object store, is in the language of the agent.

Errors take their message from the catalogue with ``DanluError.from_key``. Its hint is the text with
``.hint`` after the key, if there is one.

This module imports nothing that Python has not loaded itself: every process of a script imports it,
and a script may have modules named ``json`` or ``typing``.

``text``: sizes, durations, times and safe terminal text.
``terminal``: writes whole lines and a status line.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

LANGUAGES = ("en", "zh")
VARIABLE = "DANLU_LANG"

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_chosen = ""  # of this process; empty: not chosen yet
_of_request: Callable[[], str] = str  # of the request that is answered; empty: of the process
_catalogues: dict[str, Mapping[str, str]] = {}


def use(lang: str) -> None:
    """Set the language of this process. Empty: from ``DANLU_LANG`` or the locale."""
    global _chosen
    lang = lang or os.environ.get(VARIABLE) or of_locale(os.environ)
    _chosen = lang if lang in LANGUAGES else "en"


def use_for_requests(language_of_request: Callable[[], str]) -> None:
    """Let a function return the language of the current request, or "" outside a request.

    The server sets it once.
    """
    global _of_request
    _of_request = language_of_request


def accepted_language(header: str) -> str:
    """Return the first known language of an ``Accept-Language`` header, or "" if it has none."""
    for each in header.split(","):
        lang = each.partition(";")[0].strip().partition("-")[0].lower()
        if lang in LANGUAGES:
            return lang
    return ""


def language() -> str:
    """Return the language of the current request, else that of the process."""
    if not _chosen:
        use("")
    return _of_request() or _chosen


def of_locale(env: Mapping[str, str]) -> str:
    """Return the language of the user's locale, from the first variable that is set."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if env.get(name):
            return "zh" if env[name].lower().startswith("zh") else "en"
    return "en"


def get_message(key: str, /, **values: object) -> str:
    """Return the message for ``key`` in the current language."""
    return get_message_in(language(), key, **values)


def get_message_in(lang: str, key: str, /, **values: object) -> str:
    return catalogue(lang)[key].format_map(values)


def has_message(key: str) -> bool:
    return key in catalogue("en")


def catalogue(lang: str) -> Mapping[str, str]:
    if lang not in _catalogues:
        with open(os.path.join(_FOLDER, f"{lang}.json"), encoding="utf-8") as file:
            _catalogues[lang] = _parse(file.read())
    return _catalogues[lang]


class _Plain:
    """Default options of the JSON scanner."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _parse(text: str) -> Any:
    """Parse JSON with CPython's C scanner; see the note on imports above."""
    try:
        from _json import make_scanner

        scan: Any = make_scanner
        value, _ = scan(_Plain)(text, 0)
    except (ImportError, AttributeError):  # not CPython, or an unknown version
        import json

        value = json.loads(text)
    return value
