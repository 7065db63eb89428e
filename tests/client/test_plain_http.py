"""The small HTTP that is spoken over a unix socket, beside everything a server may do to it."""

import io
import socket
import threading

import pytest

from danlu.client.connection import PlainConnection

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: b:c\r\n\r\nhi"


class Peer:
    """Receives requests and sends the given responses, then disconnects."""

    def __init__(self, *answers):
        self.ours, self._theirs = socket.socketpair()
        self.received = []
        self._answers = answers
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        self.opened = 0

    def connect(self):
        self.opened += 1
        return self.ours

    def _serve(self):
        with self._theirs:
            for answer in self._answers:
                if not (request := self._request()):
                    return  # no client sends more requests
                self.received.append(request)
                self._theirs.sendall(answer)

    def _request(self):
        data = b""
        while b"\r\n\r\n" not in data:
            if not (piece := self._theirs.recv(65_536)):
                return []
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        length = next((int(x.split(": ")[1]) for x in lines if x.startswith("Content-Length")), 0)
        while len(body) < length:
            body += self._theirs.recv(65_536)
        return [*lines, body]

    def close(self):
        self.ours.close()
        self._thread.join()


@pytest.fixture
def asked():
    made = []

    def ask(*answers):
        peer = Peer(*answers)
        made.append(peer)
        return peer, PlainConnection(peer.connect)

    yield ask
    for peer in made:
        peer.close()


def test_two_questions_go_over_one_connection(asked):
    peer, connection = asked(OK, OK)
    connection.request("GET", "/v1/hello")
    first = connection.getresponse()
    connection.request("POST", "/v1/jobs", b"{}", {"Client-Token": "x"})
    connection.getresponse()
    connection.close()

    assert (first.status, first.read(), first.getheaders()[1]) == (200, b"hi", ("X-A", "b:c"))
    assert peer.received[0][0] == "GET /v1/hello HTTP/1.1"
    assert {"Client-Token: x", "Content-Length: 2", b"{}"} <= set(peer.received[1])
    assert peer.opened == 1


def test_file_is_sent_with_its_content_length(asked):
    peer, connection = asked(OK)
    connection.request("PUT", "/x", io.BytesIO(b"a" * 200_000), {"Content-Length": "200000"})
    connection.getresponse()
    connection.close()

    assert peer.received[0][-1] == b"a" * 200_000


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (b"HTTP/1.1 100 Go on\r\n\r\n" + OK, 200, b"hi"),
        (b"HTTP/1.1 204 No\r\n\r\n", 204, b""),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2;x=y\r\nhi\r\n3\r\n ho\r\n0\r\nT: x\r\n\r\n",
            200,
            b"hi ho",
        ),
    ],
    ids=["after a word before", "without a body", "in pieces"],
)
def test_answers_of_every_form_are_read(asked, answer, status, body):
    _, connection = asked(answer)
    connection.request("GET", "/")
    found = connection.getresponse()
    connection.close()

    assert (found.status, found.read()) == (status, body)


def test_the_answer_to_head_has_no_body(asked):
    _, connection = asked(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
    connection.request("HEAD", "/")

    found = connection.getresponse()
    connection.close()

    assert (found.status, found.read()) == (200, b"")


def test_request_moves_to_another_connection_after_hangup(asked):
    first, connection = asked(OK.replace(b"X-A: b:c", b"Connection: close"))
    connection.request("GET", "/")
    connection.getresponse()
    second, _ = asked(OK)
    first.ours = second.ours  # what is connected to next
    connection.request("GET", "/again")

    assert connection.getresponse().read() == b"hi"
    assert first.opened == 2
    assert second.received[0][0] == "GET /again HTTP/1.1"
    connection.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200",
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 two OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_answer_is_error_of_connection(asked, answer):
    _, connection = asked(answer)
    connection.request("GET", "/")

    with pytest.raises(ConnectionError):
        connection.getresponse()
    connection.close()


def test_no_line_is_slipped_into_a_request(asked):
    _, connection = asked()

    with pytest.raises(ValueError, match="end of one"):
        connection.request("GET", "/", headers={"X": "a\r\nY: b"})
    connection.close()
