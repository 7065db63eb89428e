"""What is told of dialects without loading them is what they say themselves."""

import pytest

from danlu import dialects
from danlu.errors import NotFound


@pytest.mark.parametrize("name", dialects.BUILT_IN)
def test_the_field_that_says_what_to_start_is_the_dialects_own(name):
    assert dialects.entry_field(name) == dialects.get(name).ENTRY


def test_a_dialect_nobody_has_installed_is_not_found():
    with pytest.raises(NotFound):
        dialects.entry_field("nobodys")
