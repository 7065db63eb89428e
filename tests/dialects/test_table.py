"""The table of dialects equals the dialects themselves, without importing them."""

import pytest

from danlu import dialects
from danlu.errors import NotFound


@pytest.mark.parametrize("name", dialects.BUILT_IN)
def test_entry_field_belongs_to_dialect(name):
    assert dialects.entry_field(name) == dialects.get(name).ENTRY


def test_missing_dialect_is_not_found():
    with pytest.raises(NotFound):
        dialects.entry_field("nobodys")
