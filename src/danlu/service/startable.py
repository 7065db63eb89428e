"""What Linux lets a program be started with: told when a job is submitted, not when it starts.

Arguments of a script are not counted: they reach it through a file, however long they are.
"""

from collections.abc import Iterable, Iterator

from danlu.job.plan import Command, Task

LONGEST_WORD = (128 << 10) - 1  # MAX_ARG_STRLEN, without the NUL at its end
MOST_WORDS = 1536 << 10  # of the 2 MiB for all: the rest is for what the machine itself adds


def unstartable(tasks: Iterable[Task]) -> Iterator[tuple[str, str]]:
    """Yield what is too long in the commands of a job: field and sentence."""
    for task in tasks:
        yield from _too_long(task.command)


def too_long(text: str) -> bool:
    """Tell whether a text fits into no variable and no command."""
    return _size(text) > LONGEST_WORD


def _too_long(command: Command) -> Iterator[tuple[str, str]]:
    for field, text in (("prepare_command", command.before), ("finish_command", command.after)):
        if too_long(text):
            yield field, f"has {_size(text):,} bytes, Linux takes {LONGEST_WORD:,}."
    variables = {name: f"{name}={value}" for name, value in command.env.items()}
    for name, text in variables.items():
        if too_long(text):
            sentence = f"the variable has {_size(text):,} bytes, Linux takes {LONGEST_WORD:,}"
            yield f"env.{name}", f"{sentence}; {_INSTEAD}"
    total = sum(map(_size, variables.values()))
    if total > MOST_WORDS:
        sentence = f"all variables together have {total:,} bytes, a program takes {MOST_WORDS:,}"
        yield "env", f"{sentence}; {_INSTEAD}"


_INSTEAD = "put what is so long into a file of the code or of an input."


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
