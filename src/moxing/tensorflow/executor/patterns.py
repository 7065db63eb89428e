"""Names of variables, chosen by flags: regular expressions with commas between them."""

import re

from moxing.tensorflow.executor.flags import get_flag


class Patterns:
    """``include`` empty: every name but those of ``exclude``."""

    def __init__(self, include: str, exclude: str) -> None:
        self._include = _read(include)
        self._exclude = _read(exclude)

    def take(self, name: str) -> bool:
        wanted = not self._include or any(each.search(name) for each in self._include)
        return wanted and not any(each.search(name) for each in self._exclude)


def _read(flag: str) -> list[re.Pattern[str]]:
    found = []
    for text in str(get_flag(flag) or "").split(","):
        try:
            found += [re.compile(text.strip())] if text.strip() else []
        except re.error as error:
            raise ValueError(
                f"--{flag}: {text.strip()!r} is no regular expression: {error}. "
                "Write a part of the names, such as logits."
            ) from None
    return found
