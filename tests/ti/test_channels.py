"""Data of this machine for a server elsewhere is sent, whole and within the server's limits."""

import os
import tarfile
from dataclasses import replace

import pytest

from danlu.errors import Refused, Unsupported
from danlu.settings import load
from ti.data_source import CosInput, FileSystemOutput
from ti.exceptions import InvalidArguments
from ti.inputs import output_uri, reached
from ti.session import Session


class Uploads:
    """Takes archives as a client does, and remembers what is in them."""

    def __init__(self):
        self.contents = []

    def upload_code(self, archive):
        with tarfile.open(fileobj=archive) as packed:
            names = [member.name for member in packed]
            self.contents.append({name: packed.extractfile(name).read() for name in names})
        return f"danlu://code/{len(self.contents)}.tar.gz"


@pytest.fixture
def elsewhere(tmp_path):
    session = Session(server="http://elsewhere:1", token="t")
    session.settings = load(env={"DANLU_HOME": str(tmp_path / "home")})
    session.client = Uploads()
    return session


def test_folder_is_sent_with_its_contents(elsewhere, tmp_path):
    data = tmp_path / "data"
    (data / "deep" / ".git").mkdir(parents=True)
    (data / "a.csv").write_text("1")
    (data / "deep" / ".git" / "b").write_text("2")

    found = reached(elsewhere, {"train": str(data), "test": "cos://bucket/test"})

    assert found == {"train": "danlu://code/1.tar.gz", "test": "cos://bucket/test"}
    assert elsewhere.client.contents == [{"a.csv": b"1", "deep/.git/b": b"2"}]


def test_a_file_is_sent_alone(elsewhere, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)

    assert reached(elsewhere, {"train": f"file://{tmp_path}/one"}) == {
        "train": "danlu://code/1.tar.gz"
    }
    assert elsewhere.client.contents == [{"one": b"one"}]


def test_links_are_followed_and_lead_round_nowhere(elsewhere, tmp_path):
    data, other = tmp_path / "data", tmp_path / "other"
    data.mkdir()
    other.mkdir()
    (other / "file").write_text("there")
    (data / "linked").symlink_to(other)
    (data / "above").symlink_to(data)
    (data / "dangling").symlink_to(tmp_path / "nothing")
    os.mkfifo(data / "pipe")

    reached(elsewhere, {"train": str(data)})

    assert elsewhere.client.contents == [{"linked/file": b"there"}]


def test_an_empty_folder_is_refused_by_its_channel(elsewhere, tmp_path):
    with pytest.raises(InvalidArguments) as caught:
        reached(elsewhere, {"train": str(tmp_path)})

    assert dict(caught.value.faults) == {"inputs.train": f"there is no file in {str(tmp_path)!r}."}


@pytest.mark.parametrize("limit", [{"code_limit": 5}, {"code_files": 1}])
def test_too_large_upload_is_refused_with_size(elsewhere, tmp_path, limit):
    data = tmp_path / "data"
    data.mkdir()
    for name in ("one", "two"):
        (data / name).write_text("123")
    elsewhere.settings = replace(elsewhere.settings, **limit)

    with pytest.raises(InvalidArguments) as caught:
        reached(elsewhere, {"train": str(data)})

    assert "has 2 files of 0.0 MiB" in dict(caught.value.faults)["inputs.train"]
    assert elsewhere.client.contents == []


def test_outputs_go_to_a_store_that_both_reach(elsewhere, tmp_path):
    assert output_uri(elsewhere, None) == ""
    assert output_uri(elsewhere, "cos://bucket/out") == "cos://bucket/out"
    with pytest.raises(InvalidArguments) as caught:
        output_uri(elsewhere, tmp_path)
    assert (
        "which the server http://elsewhere:1 does not see"
        in dict(caught.value.faults)["output_path"]
    )


def test_outputs_of_local_server_may_stay_local(tmp_path):
    session = Session()
    session.settings = load(env={"DANLU_HOME": str(tmp_path)})

    assert output_uri(session, tmp_path / "out") == f"file://{tmp_path}/out"
    assert output_uri(session, tmp_path / "{name}") == f"file://{tmp_path}/{{name}}"
    with pytest.raises(Unsupported, match="output_path: 7 is not supported"):
        output_uri(session, 7)


def test_buckets_of_server_elsewhere_are_not_uploaded_to(elsewhere, tmp_path):
    with pytest.raises(Refused, match="buckets of the server http://elsewhere:1 cannot be reached"):
        elsewhere.upload_data(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"), [("distribution", "ShardedByS3Key"), ("cos_data_type", "ManifestFile")]
)
def test_data_is_given_whole_or_refused(field, value):
    with pytest.raises(InvalidArguments) as caught:
        CosInput("cos://bucket/data", **{field: value})

    assert f"got {value!r}" in dict(caught.value.faults)[field]


def test_network_file_systems_take_no_outputs():
    with pytest.raises(Unsupported, match="FileSystemOutput"):
        FileSystemOutput("cfs", "/data")
