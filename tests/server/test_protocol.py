"""Connections that take their time, over a real socket."""

import asyncio
import contextlib

import pytest

from danlu.server.listen import HEAD_TIMEOUT, READER_TIMEOUT, open_unix
from danlu.server.process import _uvicorn

ASK = b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.sock"


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose clock a test sets forward: every timer that is due by then runs."""

    ahead = 0.0

    def time(self):
        return super().time() + self.ahead


def pass_time(seconds):
    asyncio.get_running_loop().ahead += seconds


def serve(app, path, scene):
    """Serve while ``scene(server)`` plays; no timer is due before its time has been passed."""

    async def both():
        server = _uvicorn(app)
        serving = asyncio.create_task(server.serve(sockets=[open_unix(path)]))
        try:
            return await asyncio.wait_for(scene(server), 60)
        finally:
            server.should_exit = True
            await serving

    with contextlib.closing(Loop()) as loop:
        return loop.run_until_complete(both())


async def answer_of(reader):
    """Read one answer; return its first line."""
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r")[0]))
    return head.split(b"\r\n")[0]


async def asked(path):
    """Send a whole request over a connection of its own; return the first line of the answer."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(ASK)
    answer = await answer_of(reader)
    writer.close()
    return answer


async def let_pass(seconds):
    """Let the time of the event loop pass, and what waited for it happen."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds
    for _ in range(3):
        await asyncio.sleep(0)


async def rest_of(reader, writer):
    """Read until the other side has hung up, however it did."""
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize("before", [0, 1], ids=["first request", "second request"])
def test_too_large_request_head_is_refused(app, path, before):
    async def scene(server):
        reader, writer = await asyncio.open_unix_connection(path)
        for _ in range(before):
            writer.write(ASK)
            assert await answer_of(reader) == OK
        writer.write(ASK[:20])
        assert await asked(path) == OK  # by now the server has the first bytes of the other
        pass_time(HEAD_TIMEOUT + 1)
        rest = await rest_of(reader, writer)
        return rest, await asked(path)

    assert serve(app, path, scene) == (b"", OK)


@pytest.mark.parametrize("before", [0, 1], ids=["first request", "second request"])
def test_head_that_is_whole_before_limit_is_answered(app, path, before):
    async def scene(server):
        reader, writer = await asyncio.open_unix_connection(path)
        for _ in range(before):
            writer.write(ASK)
            assert await answer_of(reader) == OK
        writer.write(ASK[:20])
        assert await asked(path) == OK  # by now the server has the first bytes of the other
        pass_time(HEAD_TIMEOUT / 2)  # the rest is for a busy machine
        assert await asked(path) == OK
        writer.write(ASK[20:])
        answer = await answer_of(reader)
        writer.close()
        return answer

    assert serve(app, path, scene) == OK


@pytest.fixture
def log(platform):
    """The request for the log of a job, and how long that log is: more than sockets hold."""
    job = platform.service.submit({"dialect": "fake", "name": "a"})
    platform.service.folder.joinpath(f"{job.id}.log").write_bytes(b"x" * (1 << 20))
    return b"GET /v1/jobs/a/logs/worker-0 HTTP/1.1\r\nHost: x\r\n\r\n", 1 << 20


async def stands_still(server, path, ask):
    """Ask and read nothing, until the server can write no more."""
    reader, writer = await asyncio.open_unix_connection(path, limit=1024)
    writer.write(ask)
    while not any(each.flow.write_paused for each in server.server_state.connections):
        await asyncio.sleep(0.001)
    return reader, writer


def test_stalled_reader_is_disconnected(app, path, log):
    ask, length = log

    async def scene(server):
        reader, writer = await stands_still(server, path, ask)
        pass_time(READER_TIMEOUT + 1)
        rest = await rest_of(reader, writer)
        assert len(rest) < length
        return await asked(path)

    assert serve(app, path, scene) == OK


def test_slow_reader_within_limit_gets_everything(app, path, log):
    ask, length = log

    async def scene(server):
        reader, writer = await stands_still(server, path, ask)
        pass_time(READER_TIMEOUT - 1)
        assert await asked(path) == OK
        await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(length)
        writer.close()
        return body

    assert serve(app, path, scene) == b"x" * length


def test_a_connection_over_the_socket_file_is_local(app, path):
    async def scene(server):
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
def test_non_http_request_is_refused_and_server_continues(app, path, request_bytes):
    async def scene(server):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(request_bytes)
        first = await reader.readline()
        writer.close()
        return first, await asked(path)

    assert serve(app, path, scene) == (b"HTTP/1.1 400 Bad Request\r\n", OK)


def test_a_connection_that_rests_between_requests_is_kept(app, path):
    async def scene(server):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(ASK)
        first = await answer_of(reader)
        pass_time(HEAD_TIMEOUT + 1)
        assert await asked(path) == OK
        writer.write(ASK)
        second = await answer_of(reader)
        writer.close()
        return first, second

    assert serve(app, path, scene) == (OK, OK)
