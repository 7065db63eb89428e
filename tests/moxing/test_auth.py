"""Keys and servers that a script names itself."""

import pytest

import moxing as mox
from contracts.s3_server import ACCESS, SECRET, serve
from moxing.framework.file import auth


@pytest.fixture(autouse=True)
def forget():
    yield
    auth._chosen.clear()


def test_server_and_its_keys_hold_for_both_schemes(service):
    with serve(service) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        mox.file.set_auth(
            ak=ACCESS, sk=SECRET, server=host, port=int(port), is_secure=False, path_style=True
        )
        mox.file.write("obs://bucket/x", "1")

        assert mox.file.read("s3://bucket/x") == "1"
    assert service.buckets["bucket"].keys() == {"x"}


def test_other_keys_for_the_server_of_before(service):
    with serve(service) as url:
        mox.file.set_auth(ak=ACCESS, sk="wrong", server=url)
        with pytest.raises(
            mox.file.MoxFileRespException, match="does not accept the key"
        ) as caught:
            mox.file.read("obs://bucket/x")
        assert caught.value.resp.status == 403

        mox.file.set_auth(ak=ACCESS, sk=SECRET)
        mox.file.write("obs://bucket/x", "1")
        assert mox.file.read("obs://bucket/x") == "1"


def test_embedded_store_needs_and_shows_no_keys(log):
    mox.file.set_auth(ak="a-key", sk="a-secret")
    mox.file.write("obs://bucket/x", "1")

    assert mox.file.read("obs://bucket/x") == "1"
    assert "needs no keys" in log.text
    assert "a-secret" not in log.text


def test_one_key_is_changed_and_the_other_kept(service):
    with serve(service) as url:
        mox.file.set_auth(ak=ACCESS, sk="wrong", server=url)
        mox.file.set_auth(sk=SECRET)
        mox.file.write("obs://bucket/x", "1")

        assert mox.file.read("obs://bucket/x") == "1"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"ak": "a"}, "one of ak and sk"),
        ({"server": "http://127.0.0.1:1", "port": 2}, "'http://127.0.0.1:1:2' is no address"),
        ({"port": "https"}, "127.0.0.1:https' is no address"),
        ({"server": ""}, "'https://' is no address"),
    ],
)
def test_what_cannot_be_is_reported_at_once(given, text):
    with pytest.raises(ValueError, match=text):
        mox.file.set_auth(**{"server": "127.0.0.1", **given})


def test_unknown_options_are_skipped_and_reported(log):
    mox.file.set_auth(retry=3, timeout_config={"getObjectMetadata": 10}, colour="red")

    assert "does not know colour" in log.text


def test_ks3_and_cos_stay_where_they_are(service):
    with serve(service) as url:
        mox.file.set_auth(ak=ACCESS, sk=SECRET, server=url)
        mox.file.write("ks3://bucket/x", "1")

    assert service.buckets["bucket"] == {}
