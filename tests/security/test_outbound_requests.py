"""No request makes the server connect to a place of the sender's choice."""

import asyncio
import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from raw_requests import as_json, send
from sample_requests import ALGORITHM, CODE, request_of

from danlu.errors import StorageError
from danlu.settings import Endpoint, Secret
from danlu.storage.api import Entry
from danlu.storage.names import Layout
from danlu.storage.s3.bucket import S3RetryPolicy
from danlu.storage.s3.storage import S3Storage
from danlu.storage.transfer.download import fetch

JSON = (("content-type", "application/json"),)
FORMS = (
    *("http://{at}/x", "https://{at}/x", "ftp://{at}/x", "gopher://{at}/x", "ws://{at}/x"),
    *("//{at}/x", "file://{at}/x", "obs://{at}/x", "s3://user:pass@{at}/x", "ks3://{at}", "cos://{at}/"),
    *("obs://bucket@{at}/x", "obs://bucket#{at}/x", "obs://bucket?{at}", "http:{at}", "jar:http://{at}!/x"),
    *("dataset://{at}", "danlu://{at}/x", "unix://{at}", "obs://[::ffff:127.0.0.1]/x", "obs://2130706433/x"),
)  # fmt: skip
PLACES = {"modelarts": ("code", "inputs", "outputs"), "ti": ("channels", "output_path")}
NAMED = ("inputs", "outputs", "channels")


@pytest.fixture
def listener():
    """A listener that records connections."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.setblocking(False)
        yield server


def visited(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def test_no_place_of_a_request_is_connected_to(app, put, listener):
    for name, data in CODE.items():
        put(f"obs://bucket/code/{name}", data)
    put("obs://bucket/data/a.csv")
    at = "{}:{}".format(*listener.getsockname())

    async def scene():
        for form in FORMS:
            uri = form.format(at=at)
            for dialect, fields in PLACES.items():
                for field in fields:
                    value = {"a": uri} if field in NAMED else uri
                    await ask("/v1/plan", {"request": {**request_of(dialect), field: value}})
            await ask("/v1/datasets", {"name": "data", "definition": {"uri": uri}})
            await ask("/v1/algorithms", {"name": "a", "definition": {**ALGORITHM, "code": uri}})

    async def ask(path, body):
        status, answer = await send(app, "POST", path, headers=JSON, body=as_json(body))
        assert 400 <= status < 500 or b"empty" in answer or status == 200, (body, answer)
        reported.append(status)

    reported = []
    asyncio.run(scene())
    assert not visited(listener)
    assert {200, 422} <= set(reported)
    socket.create_connection(listener.getsockname()).close()
    assert visited(listener)  # any connection would have been recorded


class _Elsewhere(BaseHTTPRequestHandler):
    """A store that redirects every request."""

    target = ""

    def _redirect(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(307)
        self.send_header("Location", f"http://{self.target}/latest/meta-data/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _redirect

    def log_message(self, format: str, *args: object) -> None:
        pass


ENTRY = Entry("a", 5, "0" * 32)
LARGE = Entry("large", 9 << 20, "0" * 32)


def test_a_redirect_of_a_store_is_not_followed(listener, tmp_path):
    class Handler(_Elsewhere):
        target = "{}:{}".format(*listener.getsockname())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    endpoint = Endpoint(url, access_key=Secret("key"), secret_key=Secret("secret"))
    storage = S3Storage(endpoint, "bucket", retry=S3RetryPolicy(limit=lambda: 0.0))

    for attempt in (
        lambda: list(storage.list("a/")),
        lambda: storage.read("a"),
        lambda: storage.open("a"),
        lambda: storage.stat("a"),
        lambda: fetch(storage, Layout((("a", ENTRY),), ()), tmp_path / "fetched"),
        lambda: fetch(storage, Layout((("large", LARGE),), ()), tmp_path / "fetched"),
        lambda: storage.write("a", b"x"),
        lambda: storage.delete("a"),
    ):
        with pytest.raises(StorageError, match="307"):
            attempt()

    server.shutdown()
    server.server_close()
    assert not visited(listener)
