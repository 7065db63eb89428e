"""The table of dialects equals the dialects themselves, without importing them."""

import pytest

from danlu import dialects
from danlu.errors import NotFound


@pytest.mark.parametrize("name", dialects.BUILT_IN)
def test_field_that_reports_what_to_start_is_dialects_own(name):
    assert dialects.entry_field(name) == dialects.get(name).ENTRY


def test_missing_dialect_is_not_found():
    with pytest.raises(NotFound):
        dialects.entry_field("nobodys")
