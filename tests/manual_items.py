"""The statements of the services' manuals, by the numbers docs/dialects/ gives them."""

# Chapters of a manual in their order, with how many statements each has; the first is chapter 0.
_COUNTED = {
    "kdl": (3, 4, 5, 7, 4, 5, 3),
    "modelarts": (12, 4, 5, 12),
    "ti": (0, 5, 7, 9, 13, 7),
    "modelmaker": (5, 8, 5, 8, 6, 1, 23),
}

# The MoXing manual has numbers of its own; a statement in a section has a letter. 6-x are those of
# chapter 6 for a second job on the same train_url.
_MOXING = """
    1-abcd
    2.1-abcdef 2-1-1 2-1-2 2.2-a 2-2-1 2-2-1b 2.3-abcdefgh 2-3-1abc 2-3-1a2
    2.4-abcdefghij 2-4-1abcdef 2-4-2ab 2-4-3abcde
    3-abcde 3.1-abcdef 3-1-1 3.2-abcd 3.3-ab 3.4-ab 3-4-1abc 3-4-2
    4-abcdefghij 4-0-1 4.1-abc 4-1-1 4-1-1b 4-1-2 4.2-abc 4.3-abcde
    4.4-abcdefghijkl 4-4-1 4-4-2ab 4-4-3 4-4-4abc
    4.5-abcde 4.5.2-abcde 4.5.3-abcd 4.6-ab 4.7 4.7-bcd 4.8-abcdef
    5.1-abc 5-1-1 5.2-abcdefgh 5-2-1ab
    6-abcdefgh 6-0-1 6-0-2abc 6-x1 6-x2 6-x3 6-x4 6-x5
"""


def items(page: str) -> set[str]:
    """Return the numbers of every statement of the manual behind a page of docs/dialects/."""
    if page != "dls":
        counted = enumerate(_COUNTED[page])
        return {f"{chapter}.{n}" for chapter, most in counted for n in range(1, most + 1)}
    found = set()
    for word in _MOXING.split():
        section = word.rstrip("abcdefghijkl")
        found |= {section + letter for letter in word[len(section) :]} or {word}
    return found
