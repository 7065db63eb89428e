"""Serves the small S3 of ``s3_service`` over HTTP, with the faults it was told to have."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

from danlu.settings import Endpoint, Secret
from danlu.testing.s3_service import ACCESS, SECRET, Reply, Request, Reset, Silence, SmallS3


@contextlib.contextmanager
def serve(
    service: SmallS3, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> Iterator[str]:
    """Serve on a free port of this machine, with ``tls`` over that; give the URL."""
    server = _Server((host, 0), _Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.service = service
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://{host}:{server.server_address[1]}"
    finally:
        service.quiet.set()
        server.shutdown()
        server.server_close()
        thread.join()


def endpoint(url: str, access: str = ACCESS, secret: str = SECRET) -> Endpoint:
    return Endpoint(url, access_key=Secret(access), secret_key=Secret(secret))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    service: SmallS3

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves is what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _handle(self) -> None:
        proxied = not self.path.startswith("/")  # as a proxy: the bucket is in the host
        parts = urlsplit(self.path if proxied else "http://host" + self.path)
        bucket, _, key = unquote(parts.path)[1:].partition("/")
        if proxied:
            bucket, key = parts.netloc.partition(".")[0], unquote(parts.path)[1:]
        target = f"{parts.path}?{parts.query}"
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length") or 0))
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        try:
            reply = self.server.service.answer(
                bucket, Request(self.command, key, query, headers, body), target
            )
        except Reset:
            # Zero seconds of lingering: the kernel sends RST, not FIN.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        except Silence:
            self.server.service.quiet.wait()
            self.close_connection = True
            return
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        headers = {"content-length": str(len(reply.body)), **reply.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self._send_body(reply.body[: reply.cut], reply.pause)
        if reply.cut is not None:
            self.close_connection = True

    def _send_body(self, body: bytes, pause: float) -> None:
        step = len(body) // 10 + 1 if pause else len(body) or 1
        for start in range(0, len(body), step):
            self.wfile.write(body[start : start + step])
            self.server.service.quiet.wait(pause)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle

    def log_message(self, format: str, *args: object) -> None:
        """Tests tell what went wrong themselves."""
