"""A service over TLS that an authority of one's own has signed."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.errors import Refused
from danlu.settings import Endpoint, load
from danlu.storage.s3 import S3Storage
from danlu.storage.s3_faults import Untrusted
from danlu.testing.s3_server import endpoint, serve
from danlu.testing.s3_service import SmallS3
from small_s3 import BIG, KEYS, Clock
from tls import Trust, trust


@pytest.fixture
def signed(tmp_path: Path) -> Trust:
    return trust(tmp_path)


@pytest.fixture
def place(service: SmallS3, signed: Trust) -> Iterator[Endpoint]:
    with serve(service, signed.server) as url:
        yield replace(endpoint(url), ca_bundle=str(signed.authority))


@pytest.mark.parametrize("key", KEYS)
def test_whom_the_settings_trust_is_spoken_to(place: Endpoint, key: str) -> None:
    storage = S3Storage(place, "bucket")

    storage.write(key, BIG)

    assert storage.read(key) == BIG
    assert [entry.key for entry in storage.list()] == [key]


@pytest.mark.parametrize("key", KEYS)
def test_whom_nobody_trusts_is_told_at_once(place: Endpoint, clock: Clock, key: str) -> None:
    stranger = replace(place, ca_bundle="")

    with pytest.raises(Untrusted, match="is not one this machine trusts") as caught:
        S3Storage(stranger, "bucket", patience=clock.patience).read(key)
    assert "ca_bundle" in caught.value.hint
    assert clock.waits == []


@pytest.mark.parametrize("key", KEYS)
def test_what_this_machine_trusts_needs_no_setting(
    place: Endpoint, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", place.ca_bundle)

    storage = S3Storage(replace(place, ca_bundle=""), "bucket")

    assert storage.stat(key) is None


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_bundle_that_cannot_be_is_told(
    place: Endpoint, tmp_path: Path, key: str, text: str | None
) -> None:
    bundle = tmp_path / "bundle.pem"
    if text is not None:
        bundle.write_text(text)

    with pytest.raises(Refused, match=r"ca_bundle: .*bundle\.pem"):
        S3Storage(replace(place, ca_bundle=str(bundle)), "bucket").read(key)


def test_the_setting_is_a_path(tmp_path: Path) -> None:
    found = load(
        env={
            "DANLU_HOME": str(tmp_path),
            "DANLU_S3_ENDPOINT": "https://127.0.0.1",
            "DANLU_S3_CA_BUNDLE": "~/own.pem",
        }
    )

    assert found.stores["s3"].ca_bundle == str(Path("~/own.pem").expanduser())
