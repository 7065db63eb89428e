"""A job that means harm: what it cannot read, write, signal or leave behind.

Each attack is tried by a real script in a real agent, as root, in a user namespace and as a user
without any rights. Without isolation nothing is hidden: that is tested too, and described in
docs/design/threat-model.md.
"""

import contextlib
import os
import signal
import socket
import stat
from pathlib import Path

import pytest
from running_platform import received
from tests.agent.conftest import Bench, make_bench, until

from danlu.job.plan import Push
from danlu.job.state import Reason

CANARY = "canary-of-others"
OUTPUT = "/home/ma-user/modelarts/outputs/train_url_0"
PUSH = (Push(OUTPUT, "obs://bucket/out", "train_url"),)
ISOLATED = ("root", "user", "nobody", "copies")

# Prints what it could do, by name, as JSON. ``attempt`` is one thing it must not be able to do.
ATTEMPTS = """
import ctypes, glob, json, os, signal, socket, struct, sys
home, others = sys.argv[1], [int(pid) for pid in sys.argv[2].split(",")]
own = sys.argv[3]
could = []
def attempt(name, action):
    try:
        if action() is not False:
            could.append(name)
    except (OSError, PermissionError):
        pass
def read(path):
    with open(path, "rb") as file:
        return bool(file.read(1 << 16))
libc = ctypes.CDLL(None, use_errno=True)
def call(function, *words):
    if function(*words) < 0:
        raise OSError(ctypes.get_errno(), "refused")
"""
READS = """
for path in ("token", "danlu.db", "secrets/other.json", "jobs/other/1/worker-0/plan.json",
             "work/other/1/worker-0/box/launch.json", "server.json", "settings.toml"):
    attempt("read " + path, lambda: read(home + "/" + path))
    attempt("climb to " + path, lambda: read(os.environ["DANLU_BOX"] + "/../../../../../" + path))
    for pid in (*others, os.getppid()):
        for way in ("root", "cwd"):
            attempt(f"{way} of {pid} to {path}", lambda: read(f"/proc/{pid}/{way}{home}/{path}"))
attempt("list the home", lambda: bool(set(os.listdir(home)) - {"work", "store"}))
attempt("list jobs", lambda: bool(set(os.listdir(home + "/work")) - {own}))
attempt("code of others", lambda: os.listdir(home + "/store/code"))
attempt("ask the server", lambda: socket.socket(socket.AF_UNIX).connect(home + "/a.sock"))
"""
PROCESSES = """
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
def look_into(pid):
    with open(f"/proc/{pid}/maps") as file:
        start = int(file.readline().partition("-")[0], 16)
    place = ctypes.create_string_buffer(16)
    mine, theirs = Vector(ctypes.addressof(place), 16), Vector(start, 16)
    call(libc.process_vm_readv, pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
def change(pid):
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as file:
        file.seek(4096)
for pid in (*others, os.getppid()):
    for name in ("environ", "mem", "maps", "auxv", "stack", "syscall"):
        attempt(f"{name} of {pid}", lambda: read(f"/proc/{pid}/{name}"))
    for number in range(20):
        attempt(f"file {number} of {pid}", lambda: os.readlink(f"/proc/{pid}/fd/{number}"))
        attempt(f"open {number} of {pid}", lambda: os.open(f"/proc/{pid}/fd/{number}", 0))
    attempt(f"look into {pid}", lambda: look_into(pid))
    attempt(f"change {pid}", lambda: change(pid))
    attempt(f"trace {pid}", lambda: call(libc.ptrace, 16, pid, None, None))
    for number in (0, signal.SIGCONT, signal.SIGTERM, signal.SIGKILL):
        attempt(f"signal {number} to {pid}", lambda: os.kill(pid, number))
    attempt(f"handle of {pid}", lambda: signal.pidfd_send_signal(os.pidfd_open(pid), 0))
"""
WRITES = """
def write(path):
    with open(path, "a") as file:
        file.write("evil")
attempt("write a home file", lambda: write(home + "/evil"))
attempt("write the token", lambda: write(home + "/token"))
attempt("write a plan", lambda: write(home + "/jobs/other/1/worker-0/plan.json"))
if sys.prefix != sys.base_prefix:
    attempt("write the runtime", lambda: write(sys.prefix + "/evil.pth"))
attempt("make a folder in the home", lambda: os.mkdir(home + "/evil"))
attempt("rename the box", lambda: os.rename(os.environ["DANLU_BOX"], home + "/evil"))
attempt("mount", lambda: call(libc.mount, b"tmpfs", b"/cache", b"tmpfs", 0, None))
attempt("unmount the cover", lambda: call(libc.umount2, home.encode(), 2))
attempt("unmount the root", lambda: call(libc.umount2, b"/", 2))
attempt("remount", lambda: call(libc.mount, None, home.encode(), None, 32 | 4096, None))
attempt("make a device", lambda: os.mknod("/cache/disk", 0o600 | 0x6000, os.makedev(8, 0)))
above = f"/proc/{os.getppid()}/ns/mnt"
attempt("enter the agent's place", lambda: call(libc.setns, os.open(above, os.O_RDONLY), 0))
attempt("load a module", lambda: call(libc.syscall, 313, -1, b"", 0))
attempt("set the clock", lambda: call(libc.settimeofday, struct.pack("qq", 0, 0), None))
"""
END = "print('HEARD ' + json.dumps(could), flush=True)"


@pytest.fixture(params=ISOLATED)
def bench(request: pytest.FixtureRequest, tmp_path: Path):
    if request.param in ("root", "nobody") and os.geteuid() != 0:
        pytest.skip("only root can")
    made = make_bench(tmp_path / "home", request.param)
    yield made
    made.close()


def furnish(bench: Bench) -> None:
    """Lay out what a home holds of others."""
    for name in (
        *("token", "danlu.db", "server.json", "settings.toml", "secrets/other.json"),
        *("jobs/other/1/worker-0/plan.json", "work/other/1/worker-0/box/launch.json"),
        "store/code/other.tar.gz",
    ):
        path = bench.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CANARY)


def attack(bench: Bench, attempts: str, others: list[int]) -> list[str]:
    furnish(bench)
    args = (str(bench.home), ",".join(map(str, others)), bench.job_id)
    files = bench.plan(ATTEMPTS + attempts + END, args=args)
    outcome = bench.run(files)
    assert outcome.reason is Reason.DONE, bench.log(files)
    return received(bench.log(files))


@contextlib.contextmanager
def neighbour(bench: Bench):
    """Another job of the same user that holds a secret; gives its agent and its script."""
    first = bench.job_id
    files = bench.plan(
        "import time\nprint('ready', flush=True)\ntime.sleep(100)", secrets={"KEY": CANARY}
    )
    process = bench.start(files)
    until(lambda: "ready" in bench.log(files))
    (script, *_) = bench.processes()
    bench.job_id = first[::-1]
    yield [process.pid, script]
    os.kill(process.pid, 0)
    os.kill(script, 0)  # still there
    for pid in (script, process.pid):
        os.kill(pid, signal.SIGKILL)


def test_job_reads_nothing_of_platform_or_of_others(bench):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener, neighbour(bench) as others:
        os.chdir(bench.home)  # a path to bind must be short
        try:
            listener.bind("a.sock")
        finally:
            os.chdir("/")
        listener.listen()
        assert attack(bench, READS, others) == []


def test_a_job_reaches_no_process_but_its_own(bench):
    with neighbour(bench) as others:
        assert attack(bench, PROCESSES, [*others, os.getpid()]) == []


def test_job_cannot_write_platform_files_or_unmount(bench):
    could = attack(bench, WRITES, [os.getpid()])

    assert could == []
    assert (bench.home / "token").read_text() == CANARY
    assert not (bench.home / "evil").exists()


@pytest.mark.parametrize("attempts", [READS])
def test_without_isolation_nothing_is_hidden(tmp_path, attempts):
    bench = make_bench(tmp_path / "home", "none")

    could = attack(bench, attempts, [os.getpid()])

    assert "read token" in could
    page = (Path(__file__).parents[2] / "docs/design/isolation.md").read_text()
    assert "nothing is hidden" in page
    bench.close()


UNUSUAL = f"""
import os, socket, sys
os.chdir("{OUTPUT}")
home = sys.argv[1]
open("good.txt", "w").write("good")
os.symlink(home + "/token", "token")
os.symlink("/etc/hostname", "hostname")
os.symlink(home, "home")
os.symlink("/", "everything")
os.symlink("../../../../../../../../../../../" + home + "/token", "climbing")
os.symlink(".", "ring")
os.symlink("nothing", "nowhere")
os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("socket")
os.makedirs("empty/folder")
open(b"not-utf8-\\xff\\xfe", "w").write("odd")
open("new\\nline and \\x1b[2J", "w").write("odd")
open(".danlu-tmp-0123456789ab", "w").write("ours?")
open("setuid", "w").write("odd")
os.chmod("setuid", 0o6777)
for name in ("..%2fescape", "%2e%2e", "-rf", "a%o", "~", "CON"):
    open(name, "w").write("odd")
"""


def test_odd_things_among_the_outputs_lead_nowhere(bench):
    furnish(bench)
    files = bench.plan(UNUSUAL, args=(str(bench.home),), push=PUSH)

    outcome = bench.run(files)

    assert outcome.reason is Reason.OUTPUTS_REFUSED, bench.log(files)
    assert outcome.failure is not None
    assert "not-utf8-" in outcome.failure.detail
    stored = bench.home / "store/buckets/bucket/out"
    assert (stored / "good.txt").read_text() == "good"
    for folder, _, names in os.walk(bench.home / "store"):
        for name in names:
            path = Path(folder, name)
            assert stat.S_ISREG(path.lstat().st_mode)
            assert not path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID)
            assert CANARY.encode() not in path.read_bytes() or path.name == "other.tar.gz"
    names = set(os.listdir(stored))
    assert {"good.txt", "setuid", "~", "-rf", "CON", "empty"} <= names
    assert not {"hostname", "token", "home", "everything", "climbing", "pipe", "socket"} & names


SWAP = f"""
import os, sys, threading, time
os.chdir("{OUTPUT}")
end = time.monotonic() + 1.2
open("real", "w").write("x" * 100_000)
os.symlink(sys.argv[1] + "/token", "link")
os.mkdir("folder")
open("folder/token", "w").write("mine")
os.symlink(sys.argv[1], "elsewhere")
while time.monotonic() < end:
    os.link("real", "new"); os.rename("new", "swapped")
    os.symlink(sys.argv[1] + "/token", "new"); os.rename("new", "swapped")
    os.rename("folder", "kept"); os.rename("elsewhere", "folder")
    os.rename("folder", "elsewhere"); os.rename("kept", "folder")
"""


def test_file_swapped_for_link_is_not_uploaded(bench):
    furnish(bench)
    files = bench.plan(SWAP, args=(str(bench.home),), push=PUSH)

    bench.run(files)

    stored = {
        name: Path(folder, name).read_text()
        for folder, _, names in os.walk(bench.home / "store/buckets")
        for name in names
    }
    assert stored["real"] == "x" * 100_000
    assert CANARY not in "".join(stored.values())


DEEP = f"""
import os
def dig(folder, depth):
    os.chdir(folder)
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    open("bottom", "w").close()
    os.chdir("/")
open("{OUTPUT}/good.txt", "w").write("good")
dig("{OUTPUT}", DEPTH)
dig("/cache", DEPTH)
"""


@pytest.mark.parametrize("depth", [1100, pytest.param(3000, marks=pytest.mark.long)])
def test_folders_without_end_are_reported(tidy, depth):
    bench = make_bench(tidy / "home", ISOLATED[0] if os.geteuid() == 0 else "user")
    files = bench.plan(DEEP.replace("DEPTH", str(depth)), push=PUSH)

    outcome = bench.run(files)

    assert outcome.reason is not Reason.PLATFORM_FAILED, outcome.failure
    assert outcome.failure is not None
    assert "folders deep" in outcome.failure.detail
    bench.close()


MANY = f"""
import os
os.chdir("{OUTPUT}")
open("good.txt", "w").write("good")
for n in range(40):  # two ways into each: a thousand thousand million paths
    os.mkdir(str(n))
    if n:
        for name in ("a", "b"):
            os.symlink("../" + str(n), str(n - 1) + "/" + name)
open("39/bottom", "w").close()
"""


def test_links_that_multiply_do_not_fill_the_memory(tmp_path):
    bench = make_bench(tmp_path / "home", ISOLATED[0] if os.geteuid() == 0 else "user")
    files = bench.plan(MANY, push=PUSH)

    outcome = bench.run(files)

    assert outcome.failure is not None
    assert "links" in outcome.failure.detail
    bench.close()
