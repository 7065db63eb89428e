import random

import pytest

from danlu.agent.redact import Redactor


def test_what_is_no_secret_passes_at_once():
    redactor = Redactor(["s3cr3t-key"])

    assert redactor.feed(b"hello\n") == b"hello\n"


def test_short_values_are_words_and_stay():
    assert Redactor(["1", "true"]).feed(b"1 is true") == b"1 is true"


def test_a_secret_inside_a_longer_one():
    assert Redactor(["abcdef", "abcdef-ghi"]).text("x abcdef-ghi y abcdef z") == "x *** y *** z"


@pytest.mark.parametrize("seed", range(20))
def test_pieces_of_any_size_give_the_same_text(seed):
    chance = random.Random(seed)
    text = b"".join(chance.choice([b"aab", b"aabaab", b"aabaabc!", b"\n"]) for _ in range(200))
    redactor = Redactor(["aabaabc!"])
    pieces, left = [], text
    while left:
        size = chance.randint(1, 9)
        pieces.append(redactor.feed(left[:size]))
        left = left[size:]

    shown = b"".join(pieces) + redactor.rest()

    assert shown == text.replace(b"aabaabc!", b"***")
