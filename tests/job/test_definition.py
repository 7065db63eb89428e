import pytest

from danlu.errors import Refused
from danlu.job.versions import Reference, parse


@pytest.mark.parametrize(
    ("text", "found"),
    [("mnist", Reference("mnist")), ("a-b_C:12", Reference("a-b_C", 12))],
)
def test_reference_is_name_and_perhaps_version(text, found):
    assert parse(text) == found
    assert str(found) == text


@pytest.mark.parametrize(
    "text", ["", ":1", "a:", "a:0", "a:01", "a:-1", "a:x", "a/b", "a:1:2", "a\n", "a:9999999999"]
)
def test_what_is_no_reference_is_refused_with_form(text):
    with pytest.raises(Refused, match="NAME:VERSION"):
        parse(text)
