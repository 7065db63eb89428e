"""What a path of a script may mean as a key. Pure: nothing is looked up.

A store keeps keys to the letter, while scripts write paths as on a disk: they join ``out/`` and
``/model`` to ``out//model``, and libraries put ``//`` in order behind their back. So something is
written under exactly its key, and looked for under it first, then under the other spellings.
"""

from collections.abc import Sequence


def spellings(key: str) -> Sequence[str]:
    """Return the keys an object may have that a script calls ``key``; the exact one first."""
    plain = collapsed(key)
    if plain != key:
        return (key, plain)
    above, slash, name = key.rpartition("/")
    return (key, f"{above}//{name}") if slash else (key, f"/{name}") if name else (key,)


def folders(key: str) -> Sequence[str]:
    """Return the prefixes a directory may have that a script calls ``key``."""
    bare = key.rstrip("/")
    if not bare:
        return ("",)
    plain = collapsed(bare)
    return (f"{bare}/",) if plain == bare else (f"{bare}/", f"{plain}/")


def collapsed(key: str) -> str:
    """Return a key without empty parts and without ``.``, as a disk takes it."""
    ending = "/" if key.endswith("/") else ""
    steps = [step for step in key.split("/") if step not in ("", ".")]
    return "/".join(steps) + (ending if steps else "")
