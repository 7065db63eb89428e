"""Aligns the printed lines of two runs by their text and compares the numbers in them.

Two lines belong together if they are equal without their numbers. Times, rates, dates and addresses
are no results: they are replaced before lines are compared.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)(?![\w])", re.I
)
_UNIT = r"(?:us|µs|ms|s|secs?|seconds?|mins?|minutes?|h|hours?)"
_ANY = r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?"
_MEASURED = re.compile(
    "|".join(
        (
            r"\d{4}-\d\d-\d\d(?:[ T_]\d\d[:-]\d\d(?:[:-]\d\d(?:[.,]\d+)?)?)?",  # dates
            r"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?",
            r"0x[0-9a-f]{4,}",
            rf"(?<![\w.]){_ANY} ?{_UNIT}(?![\w])(?:/\w+)?",  # 12ms/step
            # global_step/sec: 81.2, images per second = 5
            rf"[\w ]*(?:/ ?s(?:ec)?|per[ _]sec(?:ond)?)\b[\w ]*[:=]? *{_ANY}",
            rf"(?<![\w.]){_ANY} ?\w*(?:/ ?s(?:ec)?|[ _]per[ _]sec(?:ond)?)\b",  # 5 it/s
            rf"\b(?:time|elapsed|took|duration|speed|cost time)\b[\w ]*[:=]? *{_ANY}",
        )
    ),
    re.I,
)
# The mark of a log record, with the date of absl, or the name of the logger.
_LOGGED = re.compile(r"(?:INFO:tensorflow:|I\d{4} [\d:.]+ +\d+ [\w.]+:\d+\] )(.*)")
_DRAWN = re.compile(r"ETA:|[\x08]|\[=+>?|\d+%\|")  # progress bars; how often depends on the speed
_NOISE = re.compile(r"Using config:|Using temporary folder|<[\w.]+ object at")
_FEWEST_DECIMALS = 3  # from which the last digit of a number may be rounded differently
_MOST_PRODUCT = 4_000_000  # of two lengths; above, lines are matched by their turn


@dataclass(frozen=True)
class PrintedLine:
    """A line without its numbers, and these as they are written."""

    pattern: str
    numbers: tuple[str, ...]
    text: str

    @property
    def labels(self) -> list[str]:
        """The text before each number, which names it."""
        parts = self.pattern.split("#")
        return [_label(part) for part in parts[: len(self.numbers)]]


@dataclass
class Metric:
    """A number that both runs printed, over all lines of one pattern.

    ``pairs`` are the values of the reference and of Danlu; ``worst`` is the pair that differs most.
    """

    label: str
    pairs: int = 0
    largest: float = 0.0
    worst: tuple[str, str] = ("", "")
    last: tuple[str, str] = ("", "")
    agrees: bool = True


@dataclass
class Printed:
    """What two runs printed: the numbers of common lines, and the lines of one run only."""

    metrics: list[Metric] = field(default_factory=list)
    lines: int = 0
    only_reference: list[str] = field(default_factory=list)
    only_danlu: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        alone = self.only_reference or self.only_danlu
        return not alone and all(each.agrees for each in self.metrics)


def results(text: str) -> list[PrintedLine]:
    """Return the lines of a standard output that are results."""
    return [line(each) for each in _shown(text)]


def logged(text: str) -> list[PrintedLine]:
    """Return the log records with numbers in a standard error."""
    found = (_LOGGED.match(each) for each in _shown(text))
    lines = (line(match[1]) for match in found if match and not _NOISE.search(match[1]))
    return [each for each in lines if each.numbers]


def _shown(text: str) -> Iterator[str]:
    for whole in text.split("\n"):
        last = [part for part in whole.split("\r") if part.strip()][-1:]
        for part in last:
            if not _DRAWN.search(part) and not part.startswith("[danlu]"):
                yield part.rstrip()


def line(text: str) -> PrintedLine:
    plain = _MEASURED.sub("<time>", text)
    numbers = tuple(_NUMBER.findall(plain))
    pattern = " ".join(_NUMBER.sub("#", plain).split())
    # NumPy pads the numbers of an array to one width.
    pattern = re.sub(r"(?<=[\[(]) | (?=[\])])", "", pattern)
    return PrintedLine(pattern, numbers, text)


def _label(before: str) -> str:
    words = re.findall(r"[^\W\d_][\w/%.-]*", before)
    return " ".join(words[-3:])


def compare(
    reference: Sequence[PrintedLine],
    danlu: Sequence[PrintedLine],
    tolerance: float,
    *,
    loose: bool = False,
) -> Printed:
    """Compare the lines of two runs; ``loose``: lines of one run only are not reported."""
    found = Printed()
    metrics: dict[tuple[str, int], Metric] = {}
    for one, other in align(reference, danlu):
        if one is None or other is None:
            if not loose:
                alone = found.only_danlu if one is None else found.only_reference
                alone.append((one or other or PrintedLine("", (), "")).text)
            continue
        found.lines += 1
        for at, label in enumerate(one.labels):
            known = metrics.setdefault((one.pattern, at), Metric(label))
            _add(known, one.numbers[at], other.numbers[at], tolerance)
    found.metrics = list(metrics.values())
    return found


def _add(metric: Metric, one: str, other: str, tolerance: float) -> None:
    apart = difference(float(one), float(other))
    if apart > metric.largest or not metric.pairs:
        metric.largest, metric.worst = apart, (one, other)
    metric.pairs += 1
    metric.last = one, other
    metric.agrees = metric.agrees and (apart <= tolerance or _is_rounded(one, other))


def difference(one: float, other: float) -> float:
    """Return the difference of two numbers in parts of the larger one."""
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 0.0
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf
    return abs(one - other) / max(abs(one), abs(other))


def _is_rounded(one: str, other: str) -> bool:
    """Return True if two numbers are equal but for the last of their printed digits."""
    decimals = min(_decimals(one), _decimals(other))
    return (
        decimals >= _FEWEST_DECIMALS
        and abs(float(one) - float(other)) <= 10.0**-decimals * 1.001  # of binary fractions
    )


def _decimals(number: str) -> int:
    """Return the number of decimals; 0 for a whole number."""
    mantissa, _, exponent = number.lower().partition("e")
    digits = mantissa.partition(".")[2]
    return len(digits) - int(exponent or 0) if digits else 0


def align(
    reference: Sequence[PrintedLine], danlu: Sequence[PrintedLine]
) -> Iterator[tuple[PrintedLine | None, PrintedLine | None]]:
    """Yield pairs of lines with one pattern, and every other line beside None, in order."""
    first = 0
    shorter = min(len(reference), len(danlu))
    while first < shorter and reference[first].pattern == danlu[first].pattern:
        yield reference[first], danlu[first]
        first += 1
    last = 0
    while last < shorter - first and reference[-1 - last].pattern == danlu[-1 - last].pattern:
        last += 1
    ones, others = reference[first : len(reference) - last], danlu[first : len(danlu) - last]
    if len(ones) * len(others) > _MOST_PRODUCT:
        yield from _by_turn(ones, others)
    else:
        yield from _by_sequence(ones, others)
    if last:
        yield from zip(reference[-last:], danlu[-last:], strict=True)


def _by_sequence(
    ones: Sequence[PrintedLine], others: Sequence[PrintedLine]
) -> Iterator[tuple[PrintedLine | None, PrintedLine | None]]:
    keys = [each.pattern for each in ones], [each.pattern for each in others]
    for kind, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from zip(ones[a:b], others[c:d], strict=True)
        else:
            yield from ((each, None) for each in ones[a:b])
            yield from ((None, each) for each in others[c:d])


def _by_turn(
    ones: Iterable[PrintedLine], others: Iterable[PrintedLine]
) -> Iterator[tuple[PrintedLine | None, PrintedLine | None]]:
    waiting: dict[str, list[PrintedLine]] = defaultdict(list)
    for each in others:
        waiting[each.pattern].append(each)
    taken: dict[str, int] = defaultdict(int)
    for each in ones:
        there, at = waiting[each.pattern], taken[each.pattern]
        taken[each.pattern] += 1
        yield each, there[at] if at < len(there) else None
    for pattern, there in waiting.items():
        yield from ((None, each) for each in there[taken[pattern] :])
