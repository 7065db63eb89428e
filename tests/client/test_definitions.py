import pytest

from danlu.errors import InvalidJob, NotFound, Refused
from danlu.storage.locate import Stores


@pytest.fixture
def client(platform):
    stores = Stores(platform.settings.home / "store")
    for uri in ("obs://bucket/code/train.py", "obs://bucket/data/a.csv"):
        location = stores.at(uri)
        location.storage.write(location.key, b"x")
    return platform.connect()


def test_algorithms_are_made_found_and_removed(client):
    definition = {"code": "obs://bucket/code", "boot_file": "train.py"}

    client.algorithms.create("mnist", definition)
    second = client.algorithms.create("mnist", {**definition, "description": "better"})

    assert second["version"] == 2
    assert client.algorithms.get("mnist") == second
    assert client.algorithms.get("mnist:1")["description"] == ""
    assert [found["version"] for found in client.algorithms.list()] == [2]
    client.algorithms.remove("mnist:2")
    assert client.algorithms.get("mnist")["version"] == 1
    client.algorithms.remove("mnist")
    with pytest.raises(NotFound, match="no algorithm named 'mnist'"):
        client.algorithms.remove("mnist")


def test_data_sets_are_made_and_found(client):
    made = client.datasets.create("digits", {"uri": "obs://bucket/data"})

    assert client.datasets.get("digits:1") == made
    assert client.datasets.list()[0]["contents"]["files"] == 1
    with pytest.raises(InvalidJob) as caught:
        client.datasets.create("digits", {"uri": "obs://bucket/nothing"})
    assert caught.value.faults == (("uri", "there is nothing at 'obs://bucket/nothing'."),)


def test_invalid_reference_sends_no_request(client):
    with pytest.raises(Refused, match="NAME:VERSION"):
        client.algorithms.get("../jobs")
