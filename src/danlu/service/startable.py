"""What Linux lets a program be started with: told when a job is submitted, not when it starts."""

from collections.abc import Iterable, Iterator

from danlu.job.plan import Command, Task

LONGEST_WORD = (128 << 10) - 1  # MAX_ARG_STRLEN, without the NUL at its end
MOST_WORDS = 1536 << 10  # of the 2 MiB for all: the rest is for what the machine itself adds
_SHOWN = 40


def unstartable(tasks: Iterable[Task]) -> Iterator[tuple[str, str]]:
    """Yield what is too long in the commands of a job: field and sentence."""
    for command in {id(task.command): task.command for task in tasks}.values():
        yield from _long_words(command)
        total = sum(map(_size, _words(command)))
        if total > MOST_WORDS:
            sentence = (
                f"arguments and variables have {total:,} bytes together, a program takes "
                f"{MOST_WORDS:,}; put them into a file of the code or of an input."
            )
            yield "parameters", sentence


def too_long(text: str) -> bool:
    """Tell whether a text fits into no argument and no variable."""
    return _size(text) > LONGEST_WORD


def _long_words(command: Command) -> Iterator[tuple[str, str]]:
    for word in (*command.args, command.before, command.after):
        if too_long(word):
            yield "parameters", f"the argument {word[:_SHOWN]!r}… {_has(word)}"
    for name, value in command.env.items():
        if too_long(f"{name}={value}"):
            yield f"env.{name}", f"the variable {_has(value)}"


def _has(text: str) -> str:
    return (
        f"has {_size(text):,} bytes, Linux takes {LONGEST_WORD:,}; "
        "put it into a file of the code or of an input."
    )


def _words(command: Command) -> Iterator[str]:
    yield from command.args
    for name, value in command.env.items():
        yield f"{name}={value}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
