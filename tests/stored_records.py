"""The contract of record stores, for those that outlive the object that opened them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contracts.records import RecordsContract
from danlu.records.api import Records
from danlu.records.sql import open_records


class StoredRecords(RecordsContract):
    """Of records in a database. Give it a ``place`` fixture: what ``open_records`` takes."""

    @pytest.fixture
    def opened(self, place: Path | str) -> Iterator[list[Records]]:
        kept = [open_records(place)]
        yield kept
        kept[-1].close()

    @pytest.fixture
    def records(self, opened: list[Records]) -> Records:
        return opened[0]

    @pytest.fixture
    def reopen(self, opened: list[Records], place: Path | str) -> Callable[[Records], Records]:
        def close_and_open(records: Records) -> Records:
            records.close()
            opened.append(open_records(place))
            return opened[-1]

        return close_and_open
