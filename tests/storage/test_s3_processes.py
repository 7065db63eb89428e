"""A bucket used by threads, and in a process that was forked from one which used it."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from seaweed import Seaweed

FORKS = """
import os, signal, sys
from danlu.settings import Endpoint, Secret
from danlu.storage.s3.storage import S3Storage

url, access, secret, bucket = sys.argv[1:]
storage = S3Storage(Endpoint(url, access_key=Secret(access), secret_key=Secret(secret)), bucket)
big = bytes(range(256)) * 80_000  # more than one block, and more than one part
storage.write("before", big)
file = storage.open("before")
assert file.read(3 << 20) == big[:3 << 20]
child = os.fork()
if not child:
    signal.alarm(40)  # what hangs must not hang the tests
    ok = storage.read("before") == big and file.read() == big[3 << 20:]
    entry = storage.write("by the child", big)
    ok = ok and storage.stat("by the child") == entry and storage.create("new", b"x")
    ok = ok and {e.key for e in storage.list()} == {"before", "by the child", "new"}
    os._exit(0 if ok else 3)
assert file.read() == big[3 << 20:]
assert os.waitpid(child, 0)[1] == 0
assert storage.read("by the child") == big
print("both")
"""


def test_a_forked_process_uses_connections_of_its_own(seaweed: Seaweed) -> None:
    seaweed.bucket("forked")
    place = seaweed.endpoint
    keys = (str(place.access_key), str(place.secret_key))

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS, place.endpoint, *keys, "forked"],
        capture_output=True,
        text=True,
    )

    assert (done.stdout, done.stderr) == ("both\n", "")


def test_many_threads_share_one_storage(seaweed: Seaweed) -> None:
    storage = seaweed.bucket("threads")

    def work(number: int) -> bool:
        key, data = f"many/{number}", bytes([number]) * 10_000
        storage.write(key, data)
        with storage.open(key) as file:
            return file.read() == data and storage.stat(key) is not None

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(100)))
    assert len(list(storage.list("many/"))) == 100


WITHOUT = """
import sys
from danlu.settings import load
from danlu.storage.locate import Stores
place = Stores.of(load()).at("obs://bucket/a")
place.storage.write(place.key, b"x")
assert place.storage.read(place.key) == b"x"
import danlu.agent.task_runner
print([name for name in ("botocore", "urllib3") if name in sys.modules])
"""


def test_file_storage_imports_no_s3_modules(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DANLU_HOME", str(tmp_path))

    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_storage_that_was_only_made_has_loaded_nothing() -> None:
    code = (
        "import sys\nfrom danlu.settings import Endpoint\n"
        "from danlu.storage.s3.storage import S3Storage\n"
        "S3Storage(Endpoint('http://127.0.0.1:9'), 'bucket')\n"
        "print([name for name in ('botocore', 'urllib3') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("[]\n", "")
