"""What we say to people, in English and Chinese: one flat catalogue of dotted keys.

``en.json`` and ``zh.json`` hold the same keys with the same placeholders. The language is chosen
once, at the door (:func:`use`); who needs both at once asks with :func:`say_in`.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

LANGUAGES = ("en", "zh")

_chosen = "en"


def use(lang: str) -> None:
    """Choose the language of :func:`say` for this process; anything unknown is English."""
    global _chosen
    _chosen = lang if lang in LANGUAGES else "en"


def language() -> str:
    return _chosen


def of_locale(env: Mapping[str, str]) -> str:
    """Return the language a person's locale asks for. The first variable that is set decides."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if env.get(name):
            return "zh" if env[name].lower().startswith("zh") else "en"
    return "en"


def say(key: str, /, **values: object) -> str:
    """Return the sentence for ``key`` in the chosen language."""
    return say_in(_chosen, key, **values)


def say_in(lang: str, key: str, /, **values: object) -> str:
    return catalogue(lang)[key].format_map(values)


def knows(key: str) -> bool:
    return key in catalogue("en")


@cache
def catalogue(lang: str) -> Mapping[str, str]:
    text = Path(__file__).with_name(f"{lang}.json").read_text(encoding="utf-8")
    sentences: dict[str, str] = json.loads(text)
    return sentences
