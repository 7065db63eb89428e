"""Which objects a copy or a sync moves where."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from danlu.cli.code import is_uri
from danlu.cli.moves import Move
from danlu.cli.objects import Objects, delete
from danlu.cli.request import place_uri
from danlu.errors import Refused
from danlu.storage.api import Entry
from danlu.storage.locate import Location, file_uri, parse
from danlu.words import say


def plan_copy(objects: Objects, sources: Sequence[str], target: str) -> list[Move]:
    """Return the moves of a copy.

    A single object goes into a target that ends in ``/`` or is a folder, else it takes the
    target's name. A tree goes below the target with its own shape; several go each into a
    folder of its own name.

    Raises:
        NotFound, Refused
    """
    several = len(sources) > 1
    goal = objects.at(target)
    if several and goal.single() is not None:
        raise Refused(say("store.many_onto_file", target=target))
    return [move for one in sources for move in _one(objects, one, target, goal, several)]


def _one(
    objects: Objects, source: str, target: str, goal: Location, several: bool
) -> Iterator[Move]:
    place = objects.at(source)
    if single := place.single():
        into = target if not several or target.endswith("/") else f"{target}/"
        at, key = _named(objects, into, single)
        yield Move(place.storage, single, at.storage, key)
        return
    entries = objects.tree(source)
    if goal.single() is not None:
        raise Refused(say("store.tree_onto_file", source=source, target=target))
    below = f"{source.rstrip('/').rpartition('/')[2]}/" if several else ""
    for path, entry in entries:
        yield Move(place.storage, entry, goal.storage, goal.prefix + below + path)


def _named(objects: Objects, target: str, single: Entry) -> tuple[Location, str]:
    goal = objects.at(target)
    name = single.key.rpartition("/")[2]
    if target.endswith("/") or (goal.single() is None and goal.exists()):
        return goal, goal.prefix + name
    if goal.key:
        return goal, goal.key
    if is_uri(target) and not target.startswith("file:"):
        return goal, name  # a bucket
    # A file that is not there yet: its folder is the storage.
    path = Path(parse(place_uri(target)).key)
    return objects.stores.at(file_uri(path.parent)), path.name


def plan_sync(objects: Objects, source: str, target: str) -> tuple[list[Move], list[Entry]]:
    """Return the moves that make ``target`` hold what ``source`` does, and what it has beyond.

    Raises:
        NotFound: nothing is at the source.
        Refused: it is a single object, or one place lies in the other.
    """
    place, goal = objects.at(source), objects.at(target)
    for text, found in ((source, place), (target, goal)):
        if found.single() is not None:
            raise Refused(say("store.sync_one", uri=text))
    one, other = objects.spot(source), objects.spot(target)
    if one.contains(other) or other.contains(one):
        raise Refused(say("store.sync_inside", source=source, target=target))
    there = {path: entry for path, entry in goal.tree()}
    moves = [
        Move(place.storage, entry, goal.storage, goal.prefix + path, there.pop(path, None))
        for path, entry in objects.tree(source)
    ]
    # A folder that is not empty needs no mark of its own.
    kept = {parent for move in moves for parent in _above(move.key[len(goal.prefix) :])}
    return moves, [entry for path, entry in there.items() if path not in kept]


def prune(
    objects: Objects,
    source: str,
    target: str,
    beyond: Sequence[Entry],
    told: Callable[[str], None],
    *,
    dry: bool = False,
) -> int:
    """Remove what a target has beyond its source; return how many objects these were."""
    gone = [entry.key for entry in beyond if not entry.key.endswith("/")]
    for key in gone:
        told(key)
    while beyond and not dry:
        delete(objects.at(target), [entry.key for entry in beyond])
        # Folders show themselves when they are empty.
        before, beyond = {entry.key for entry in beyond}, plan_sync(objects, source, target)[1]
        beyond = [entry for entry in beyond if entry.key not in before]
    return len(gone)


def _above(path: str) -> Iterator[str]:
    steps = path.split("/")
    return ("/".join(steps[:end]) + "/" for end in range(1, len(steps)))
