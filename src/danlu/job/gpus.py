"""Limits the GPUs that a script selects to those of its task.

Every Python process of a task imports this module before its script, so it imports nothing.
"""

NAME = "CUDA_VISIBLE_DEVICES"
OWN = "DANLU_CARDS"  # the GPUs of the task, as CUDA names devices


def within(own: str, asked: str) -> str:
    """Return the GPUs of the task that ``asked`` selects, possibly none.

    On the services a task was alone with its GPUs, and scripts number them from 0. A number
    therefore is an index into ``own``, unless all requested devices are GPUs of the task. As in
    CUDA, the list ends at the first device that does not exist. Users write ``-1`` for none.
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
