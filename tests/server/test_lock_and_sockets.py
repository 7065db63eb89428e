import os
import socket
import stat
import subprocess
import sys

import pytest

from danlu.errors import Conflict, Refused
from danlu.server.context import Idle
from danlu.server.guard import Auth, check_bind
from danlu.server.listen import (
    TcpAddress,
    open_tcp,
    open_unix,
    parse_address,
    private_folder,
    url_for_others,
)
from danlu.server.process import HomeLock

HOLD = """
import sys
from pathlib import Path
from danlu.server.process import HomeLock
lock = HomeLock(Path(sys.argv[1]))
lock.take({"pid": 77, "version": "0.9"})
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_second_server_names_the_holder_of_home(tmp_path, holder):
    with pytest.raises(Conflict, match=r"process 77, Danlu 0\.9"):
        HomeLock(tmp_path).take({})


def test_the_lock_of_a_killed_server_is_free(tmp_path, holder):
    holder.kill()
    holder.wait()

    lock = HomeLock(tmp_path)
    lock.take({"pid": 1})
    lock.release()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_server_notices_that_its_home_is_gone(tmp_path, replaced):
    lock = HomeLock(tmp_path)
    lock.take({"pid": 1})
    assert not lock.lost()

    (tmp_path / "lock").rename(tmp_path / "moved")
    if replaced:
        (tmp_path / "lock").touch()

    assert lock.lost()
    lock.release()


def test_the_socket_is_for_its_user_alone(tmp_path):
    path = tmp_path / "run" / "a.sock"
    with open_unix(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_socket_that_was_left_behind_is_replaced(tmp_path):
    open_unix(tmp_path / "a.sock").close()

    with open_unix(tmp_path / "a.sock"), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "a.sock"))


def test_mask_of_process_is_left_as_it_was(tmp_path):
    before = os.umask(0o022)
    try:
        open_unix(tmp_path / "a.sock").close()
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


def test_a_folder_open_to_others_is_closed(tmp_path):
    tmp_path.chmod(0o777)

    private_folder(tmp_path)

    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_link_in_place_of_folder_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with pytest.raises(Refused, match="not a directory of this user"):
        private_folder(tmp_path / "link")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_folder_of_another_user_is_refused(tmp_path):
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 12345, 12345)

    with pytest.raises(Refused, match="owner: uid 12345"):
        private_folder(tmp_path / "theirs")


@pytest.mark.parametrize(
    ("text", "address", "url"),
    [
        ("127.0.0.1:9420", TcpAddress("127.0.0.1", 9420), "http://127.0.0.1:9420"),
        ("[::1]:80", TcpAddress("::1", 80), "http://[::1]:80"),
        ("0.0.0.0:1", TcpAddress("0.0.0.0", 1), "http://127.0.0.1:1"),
        ("box:0", TcpAddress("box", 0), "http://box:0"),
    ],
)
def test_an_address_is_a_host_and_a_port(text, address, url):
    assert parse_address(text) == address
    assert str(address) == text
    assert address.url == url


@pytest.mark.parametrize("bound", ["0.0.0.0:9420", "[::]:9420"])
def test_server_of_every_address_accepts_its_name(bound):
    assert url_for_others(bound) == f"http://{socket.gethostname()}:9420"
    assert url_for_others("10.0.0.5:9420") == "http://10.0.0.5:9420"
    assert url_for_others("") == ""


@pytest.mark.parametrize("text", ["", "box", ":1", "box:", "box:x", "box:65536", "box:-1"])
def test_anything_else_is_refused(text):
    with pytest.raises(Refused, match="--tcp"):
        parse_address(text)


def test_a_port_that_is_taken_is_reported():
    listener, address = open_tcp(TcpAddress("127.0.0.1", 0))
    with listener, pytest.raises(Refused, match=f"Cannot listen on 127.0.0.1:{address.port}"):
        open_tcp(address)


def test_nothing_listens_on_tcp_without_a_token():
    with pytest.raises(Refused, match="needs a token"):
        check_bind("0.0.0.0", Auth())


def test_idleness_counts_from_the_last_answer():
    now = [0.0]
    idle = Idle(10, clock=lambda: now[0])

    now[0] = 9
    idle.enter()
    now[0] = 30
    assert not idle.expired()
    idle.leave()
    assert not idle.expired()
    now[0] = 40
    assert idle.expired()
    idle.used()
    assert not idle.expired()
