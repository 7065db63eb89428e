"""A home whose records were others before."""

import pytest

from danlu.errors import Conflict
from danlu.service.servers.home import FILE, check_same_records, identity_of


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (FILE, "one", "the file danlu.db"),
        ("one", "two", "another database"),
        ("one", FILE, "anoth"),
    ],
)
def test_records_are_not_exchanged_under_jobs_that_run(tmp_path, before, after, text):
    check_same_records(tmp_path, before)
    (tmp_path / "places").mkdir()
    (tmp_path / "places" / "job.json").touch()
    check_same_records(tmp_path, before)

    with pytest.raises(Conflict, match=f"whose records are in {text}"):
        check_same_records(tmp_path, after)

    (tmp_path / "places" / "job.json").unlink()
    check_same_records(tmp_path, after)
    check_same_records(tmp_path, after)


def test_records_are_not_exchanged_over_unstored_outputs(tmp_path):
    """Jobs that the new records do not know are taken for removed."""
    check_same_records(tmp_path, "one")
    (tmp_path / "work" / "d1wj4syr7ytr").mkdir(parents=True)
    check_same_records(tmp_path, "one")

    with pytest.raises(Conflict, match=r"work holds outputs .*: d1wj4syr7ytr\. .*another database"):
        check_same_records(tmp_path, "two")


def test_home_with_its_own_file_needs_no_note(tmp_path):
    check_same_records(tmp_path, FILE)

    assert list(tmp_path.iterdir()) == []


def test_database_is_known_by_what_is_in_it(new_records):
    records = new_records()

    assert identity_of(records) == identity_of(records) != identity_of(new_records())
