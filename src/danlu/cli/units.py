"""Sizes, durations and times as people read them."""

import time

from danlu.words import say


def size(count: float) -> str:
    """Return bytes in the unit that needs no more than four digits."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def duration(seconds: float) -> str:
    seconds = max(seconds, 0)
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours:02d} h"


def age(then: float, now: float) -> str:
    """Return how long ago, roughly."""
    seconds = max(now - then, 0)
    for key, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= length:
            return say(f"ago.{key}", count=int(seconds // length))
    return say("ago.seconds", count=int(seconds))


def moment(at: float) -> str:
    """Return a time in the person's own zone."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))
