"""How a bucket is addressed, and with what: virtual hosts, proxies, tokens, no key at all."""

from dataclasses import replace

import pytest

from contracts.s3_server import SmallS3, endpoint
from danlu.errors import Unsupported
from danlu.settings import Endpoint, Secret
from danlu.storage.s3.answers import NoPermission
from danlu.storage.s3.storage import S3Storage
from small_s3 import BIG, KEYS, Clock


@pytest.fixture
def proxy(url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The small S3 as the proxy of this machine: what it is asked names the host."""
    monkeypatch.setenv("http_proxy", url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    return url


@pytest.mark.parametrize("key", KEYS)
def test_virtual_host_names_bucket_and_proxy_is_used(
    proxy: str, service: SmallS3, clock: Clock, key: str
) -> None:
    place = replace(endpoint("http://obs.example.com"), addressing="virtual")
    storage = S3Storage(place, "bucket", retry=clock.retry)

    storage.write(key, BIG)

    assert storage.read(key) == BIG
    assert [entry.key for entry in storage.list()] == [key]
    assert service.buckets["bucket"].keys() == {key}
    assert {r.headers["host"] for r in service.requests} == {"bucket.obs.example.com"}


@pytest.mark.parametrize("key", KEYS)
def test_token_of_session_goes_with_every_request(
    url: str, service: SmallS3, clock: Clock, key: str
) -> None:
    place = replace(endpoint(url), token=Secret("session-canary"), region="cn-north-4")
    storage = S3Storage(place, "bucket", retry=clock.retry)

    storage.write(key, b"x")

    assert storage.read(key) == b"x"
    assert {r.headers["x-amz-security-token"] for r in service.requests} == {"session-canary"}
    assert all("/cn-north-4/s3/" in r.headers["authorization"] for r in service.requests)


@pytest.mark.parametrize("key", KEYS)
def test_without_keys_nothing_is_signed(
    url: str, service: SmallS3, clock: Clock, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-somebody-else")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-somebody-else")
    storage = S3Storage(Endpoint(url), "bucket", retry=clock.retry)

    with pytest.raises(NoPermission):
        storage.read(key)

    assert all("authorization" not in request.headers for request in service.requests)


@pytest.mark.parametrize("key", KEYS)
def test_variables_of_other_tools_are_ignored(
    url: str, service: SmallS3, storage: S3Storage, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SESSION_TOKEN", "ENDPOINT_URL", "ENDPOINT", "REGION", "DEFAULT_REGION"):
        monkeypatch.setenv(f"AWS_{name}", "http://elsewhere.example.com")

    storage.write(key, b"x")

    assert storage.read(key) == b"x"
    assert all("x-amz-security-token" not in request.headers for request in service.requests)


def test_a_package_that_is_not_there_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "urllib3"

    class Missing:
        def find_spec(self, module: str, *_: object) -> None:
            if module.partition(".")[0] == name:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    import sys

    for module in [m for m in sys.modules if m.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])

    with pytest.raises(Unsupported, match=f"{name} is not installed") as caught:
        S3Storage(endpoint(url), "bucket").read("a")
    assert caught.value.hint == "pip install 'danlu[s3]'"
