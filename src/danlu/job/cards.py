"""Which of its own cards a task sees, whatever its script asks for.

Imported by every Python of a task before its script: nothing else is.
"""

NAME = "CUDA_VISIBLE_DEVICES"
OWN = "DANLU_CARDS"  # what the task has, as CUDA names devices


def within(own: str, asked: str) -> str:
    """Return a choice of devices as one of the task's own, or of none.

    On the services a task was alone with its cards, and scripts count them from 0: a number is
    one of these, unless all that is asked for are devices the task has. As CUDA does, stop at
    the first that is not there; ``-1`` is how people say none.
    """
    cards, words = _words(own), _words(asked)
    if all(word in cards for word in words):
        return ",".join(words)
    found: list[str] = []
    for word in words:
        if word.isdecimal() and int(word) < len(cards):
            found.append(cards[int(word)])
        elif word in cards and not word.isdecimal():
            found.append(word)
        else:
            break
    return ",".join(dict.fromkeys(found))


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
