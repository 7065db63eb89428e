"""Connections that take their time, over a real socket."""

import asyncio

import pytest

from danlu.server import protocol
from danlu.server.process import _uvicorn
from danlu.server.sockets import open_unix


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.sock"


def serve(app, path, scene):
    async def both():
        server = _uvicorn(app)
        serving = asyncio.create_task(server.serve(sockets=[open_unix(path)]))
        try:
            return await asyncio.wait_for(scene(), 30)
        finally:
            server.should_exit = True
            await serving

    return asyncio.run(both())


async def rest_of(reader, writer):
    """Read until the other side has hung up, however it did."""
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


def test_a_request_that_never_comes_is_not_waited_for(app, path, monkeypatch):
    monkeypatch.setattr(protocol, "HEAD_PATIENCE", 0.1)

    async def scene():
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        return await rest_of(reader, writer)

    assert serve(app, path, scene) == b""


def test_a_reader_who_stands_still_is_dropped_and_can_go_on(app, platform, path, monkeypatch):
    monkeypatch.setattr(protocol, "READER_PATIENCE", 0.1)
    job = platform.service.submit({"dialect": "fake", "name": "a"})
    platform.service.folder.joinpath(f"{job.id}.log").write_bytes(b"x" * (4 << 20))
    ask = b"GET /v1/jobs/a/logs/worker-0 HTTP/1.1\r\nHost: x\r\n\r\n"

    async def scene():
        reader, writer = await asyncio.open_unix_connection(path, limit=1024)
        writer.write(ask)
        dropped = await asyncio.to_thread(_closed_without_reading, writer)
        writer.close()
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(ask)
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(1 << 20)
        writer.close()
        return dropped, head.split(b"\r\n")[0], len(body)

    assert serve(app, path, scene) == (True, b"HTTP/1.1 200 OK", 1 << 20)


def _closed_without_reading(writer):
    """Wait until the other side has hung up, which a poll sees without reading a byte."""
    import select

    poll = select.poll()
    poll.register(writer.get_extra_info("socket").fileno(), select.POLLHUP)
    return bool(poll.poll(20_000))


def test_a_connection_over_the_socket_file_is_local(app, path):
    async def scene():
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"GET /v1/jobs HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        answer = await reader.readline()
        writer.close()
        return answer

    assert serve(app, path, scene) == b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "request_bytes",
    [b"\0\0\0\0\r\n\r\n", b"GET /" + b"a" * 200_000, b"POST\r\n\r\n"],
    ids=["nul", "long", "short"],
)
def test_what_is_not_http_is_refused_and_the_server_goes_on(app, path, request_bytes):
    async def scene():
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(request_bytes)
        first = await reader.readline()
        writer.close()
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n")
        second = await reader.readline()
        writer.close()
        return first, second

    assert serve(app, path, scene) == (b"HTTP/1.1 400 Bad Request\r\n", b"HTTP/1.1 200 OK\r\n")


async def answer_of(reader):
    """Read one answer; return its first line."""
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r")[0]))
    return head.split(b"\r\n")[0]


def test_the_head_of_a_second_request_is_not_waited_for_either(app, path, monkeypatch):
    monkeypatch.setattr(protocol, "HEAD_PATIENCE", 0.1)

    async def scene():
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n")
        await answer_of(reader)
        writer.write(b"G")
        return await rest_of(reader, writer)

    assert serve(app, path, scene) == b""


def test_a_connection_that_rests_between_requests_is_kept(app, path, monkeypatch):
    monkeypatch.setattr(protocol, "HEAD_PATIENCE", 0.05)
    ask = b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n"

    async def scene():
        reader, writer = await asyncio.open_unix_connection(path)
        for _ in range(2):
            writer.write(ask)
            first = await answer_of(reader)
            await asyncio.sleep(0.2)  # longer than a head may take
        writer.close()
        return first

    assert serve(app, path, scene) == b"HTTP/1.1 200 OK"
