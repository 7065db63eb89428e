"""A service over TLS that an authority of one's own has signed."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from contracts.s3_server import SmallS3, endpoint, serve
from danlu.errors import Refused, StorageError
from danlu.settings import Endpoint, load
from danlu.storage.s3.answers import Untrusted
from danlu.storage.s3.storage import S3Storage
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
def test_service_with_trusted_certificate_is_used(place: Endpoint, key: str) -> None:
    storage = S3Storage(place, "bucket")

    storage.write(key, BIG)

    assert storage.read(key) == BIG
    assert [entry.key for entry in storage.list()] == [key]


@pytest.mark.parametrize("key", KEYS)
def test_untrusted_certificate_is_reported_at_once(place: Endpoint, clock: Clock, key: str) -> None:
    other = replace(place, ca_bundle="")

    with pytest.raises(Untrusted, match="does not trust the certificate") as caught:
        S3Storage(other, "bucket", retry=clock.retry).read(key)
    assert "ca_bundle" in caught.value.hint
    assert clock.waits == []


def test_plain_http_service_is_reported_at_once(service: SmallS3, clock: Clock) -> None:
    with serve(service) as url:
        plain = endpoint(url.replace("http:", "https:"))

        with pytest.raises(StorageError, match="No TLS connection") as caught:
            S3Storage(plain, "bucket", retry=clock.retry).read("a")
    assert "http://" in caught.value.hint
    assert clock.waits == []


def test_connection_cut_before_handshake_is_made_again(place: Endpoint, clock: Clock) -> None:
    with cutting_off(3, urlsplit(place.endpoint).port or 0) as port:
        front = replace(place, endpoint=f"https://127.0.0.1:{port}")

        storage = S3Storage(front, "bucket", retry=clock.retry)

        assert storage.stat("a") is None
    assert len(clock.waits) == 3


@contextmanager
def cutting_off(count: int, port: int) -> Iterator[int]:
    """Give a port that leads to another one; the first connections end with their greeting."""
    ends = []

    def lead() -> None:
        for number in range(count + 1):
            taken = stack.enter_context(front.accept()[0])
            if number < count:
                taken.recv(65536)
                taken.close()
        there = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        ends.extend([taken, there])
        threads = [threading.Thread(target=pump, args=pair) for pair in (ends, ends[::-1])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with ExitStack() as stack:
        front = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        leading = threading.Thread(target=lead, daemon=True)  # who fails does not come again
        leading.start()
        yield front.getsockname()[1]
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        leading.join()


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("key", KEYS)
def test_what_this_machine_trusts_needs_no_setting(
    place: Endpoint, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", place.ca_bundle)

    storage = S3Storage(replace(place, ca_bundle=""), "bucket")

    assert storage.stat(key) is None


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_bundle_that_is_impossible_is_reported(
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
