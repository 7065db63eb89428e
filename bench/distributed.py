"""How soon a cluster trains: two ps and two workers through Danlu, beside the same by hand.

One script, in turns. By hand four processes are started at once with their ports; through
Danlu it is ``danlu run --nodes 2`` with a server that is up, once as it is and once "cold": with
no process that has TensorFlow loaded already. From the start to the first global step, and until
every worker has made one; the median of the rounds counts. TensorFlow's own workers look every
30 s whether the chief is ready, so the second number by hand depends on chance.

    python bench/distributed.py [--rounds 5]     writes bench/results/distributed.json
"""

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reports import Rounds, arguments, written

BAR = 1.2  # times the first global step by hand, cold
SCRIPT = Path(__file__).parent / "peers" / "between_graph.py"
DANLU = Path(sys.executable).with_name("danlu")
WORKERS = 2
TIMEOUT = 300.0
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}

OURS, COLD, HAND = "danlu", "danlu, cold", "by hand"
Seconds = dict[str, float]  # to the first global step, and to that of every worker


def main() -> int:
    given = arguments(__doc__).parse_args()
    rounds = Rounds(given.rounds, given.seed)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        tries = measure(Path(folder), rounds)
    what = "seconds from the start of 2 ps and 2 workers to the first global step"
    report = written("distributed", what, rounds, **summary(tries))
    for what, row in report["seconds"].items():
        print(f"{what:10}", *(f"{way} {value:6.2f} s" for way, value in row.items()), sep="  ")
    for way, times in report["ratio"]["first"].items():
        print(f"first global step: {way} {times:.2f} x by hand (bar {BAR} for {COLD})")
    return 0 if report["held"] else 1


def measure(folder: Path, rounds: Rounds) -> dict[str, list[Seconds]]:
    """Return what every round took, by way. One try of each is not counted: it fills caches."""
    tries: dict[str, list[Seconds]] = {way: [] for way in (OURS, COLD, HAND)}
    with ours(folder / "home", "auto") as warm, ours(folder / "cold home", "off") as cold:
        ways = {OURS: warm, COLD: cold, HAND: by_hand}
        for number, turns in enumerate([list(ways), *rounds.turns(ways)]):
            for way in turns:
                moments = folder / f"{way} {number}"
                moments.mkdir()
                taken = ways[way](moments)
                if number:
                    tries[way].append(taken)
    return tries


def summary(tries: dict[str, list[Seconds]]) -> dict[str, Any]:
    middle = {
        what: {way: statistics.median(each[what] for each in tries[way]) for way in tries}
        for what in ("first", "everybody")
    }
    ratio = {
        what: {way: round(row[way] / row[HAND], 3) for way in (OURS, COLD)}
        for what, row in middle.items()
    }
    return {
        "seconds": {
            what: {way: round(value, 3) for way, value in row.items()}
            for what, row in middle.items()
        },
        "ratio": ratio,
        "bar": BAR,
        "held": ratio["first"][COLD] <= BAR,
        "tries": tries,
    }


@contextmanager
def ours(home: Path, waiting: str) -> Iterator[Callable[[Path], Seconds]]:
    """Give the way through Danlu, with a home of its own whose server is up."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("DANLU_", "PYTHON"))}
    env |= {"DANLU_HOME": str(home), "DANLU_CPUS": "8", "DANLU_WARM": waiting}
    code = home.with_name(f"code of {home.name}")
    code.mkdir()
    shutil.copy(SCRIPT, code / "train.py")

    def run(*words: str) -> None:
        nowhere = subprocess.DEVNULL
        subprocess.run([DANLU, *words], env=env, stdout=nowhere, stderr=nowhere, check=True)

    def start(moments: Path) -> Seconds:
        began = time.time()
        cluster = ("--dialect", "dls", "--nodes", str(WORKERS), "--name", "cluster")
        run("run", str(code / "train.py"), *cluster, "--detach", "-p", f"moments={moments}")
        taken = wait(moments, began)
        run("wait", "cluster")
        run("rm", "cluster")
        return taken

    try:
        yield start  # its first try starts the server, and is not counted
    finally:
        run("down")


def by_hand(moments: Path) -> Seconds:
    addresses = free_addresses(2 * WORKERS)
    hosts = {"ps": addresses[:WORKERS], "worker": addresses[WORKERS:]}
    flags = [f"--{job}_hosts={','.join(found)}" for job, found in hosts.items()]
    flags.append(f"--moments={moments}")
    # gRPC would look for the others through a proxy, and wait for minutes: no fair race.
    dropped = ("_proxy", "dontwritebytecode")
    env = {k: v for k, v in os.environ.items() if not k.lower().endswith(dropped)} | QUIET
    began = time.time()
    tasks = [
        subprocess.Popen(
            [sys.executable, SCRIPT, f"--job_name={job}", f"--task_index={index}", *flags],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # As ours: the kernel shares a busy machine among sessions, not processes.
            start_new_session=True,
        )
        for job, found in hosts.items()
        for index in range(len(found))
    ]
    try:
        return wait(moments, began)
    finally:
        for task in tasks[WORKERS:]:
            task.wait(60)
        for task in tasks:
            task.kill()
            task.wait()


def wait(moments: Path, began: float) -> Seconds:
    """Return how long it took, once every worker has made a step."""
    files = [moments / f"worker-{index}" for index in range(WORKERS)]
    end = time.monotonic() + TIMEOUT
    while not all(file.exists() for file in files):
        if time.monotonic() > end:
            raise TimeoutError(f"the cluster of {moments.name!r} does not train")
        time.sleep(0.02)
    taken = [float(file.read_text()) - began for file in files]
    return {"first": round(min(taken), 3), "everybody": round(max(taken), 3)}


def free_addresses(count: int) -> list[str]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [f"127.0.0.1:{each.getsockname()[1]}" for each in held]
    for each in held:
        each.close()
    return found


if __name__ == "__main__":
    sys.exit(main())
