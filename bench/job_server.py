"""What a server costs: to start, at rest, with many jobs at once, and with many it has seen."""

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from danlu.client import Client, bundle, connect
from danlu.client.background import bring_down, status
from danlu.settings import Settings, load

AT_ONCE, KNOWN, PAGE = 50, 10_000, 50
_TICK = os.sysconf("SC_CLK_TCK")


def measure(folder: Path, script: Path, rest: float) -> dict[str, Any]:
    """Return one round of numbers; ``rest`` seconds are spent to see what rest costs."""
    settings = load({"home": folder / "server-home"})
    began = time.perf_counter()
    client = connect(settings)
    found: dict[str, Any] = {"ready_seconds": round(time.perf_counter() - began, 3)}
    try:
        found["jobs_a_second"] = round(_throughput(client, settings, script), 2)
        pids = family(status(settings).pid)
        found["resident_megabytes"] = round(sum(map(_resident, pids)) / 2**20, 1)
        found["processes"] = len(pids)
        before = sum(map(_cpu, pids))
        time.sleep(rest)
        found["rest_cpu_percent"] = round((sum(map(_cpu, pids)) - before) / rest * 100, 3)
        client.close()
    finally:
        bring_down(settings)
    return found


def _throughput(client: Client, settings: Settings, script: Path) -> float:
    request = _request(client, settings, script)
    client.wait(client.submit(request)["id"])  # the first one fills the cache
    began = time.perf_counter()
    for name in [client.submit(request)["id"] for _ in range(AT_ONCE)]:
        if client.wait(name)["state"] != "succeeded":
            raise RuntimeError(f"The job {name} did not succeed.")
    return AT_ONCE / (time.perf_counter() - began)


def _request(client: Client, settings: Settings, script: Path) -> dict[str, str]:
    with bundle.packed(bundle.select(script, settings)) as archive:
        uri = client.upload_code(archive)
    return {"dialect": "modelarts", "code_dir": uri, "boot_file": script.name}


@contextmanager
def many_known(folder: Path, script: Path) -> Iterator[Client]:
    """Serve a home that has seen 10,000 jobs: one that was run, and copies of it."""
    settings = load({"home": folder / "many-home"})
    client = connect(settings)
    client.wait(client.submit(_request(client, settings, script))["id"])
    bring_down(settings)
    _multiply(settings)
    client = connect(settings)
    try:
        yield client
    finally:
        client.close()
        bring_down(settings)


def _multiply(settings: Settings) -> None:
    from danlu.job.job import new_id
    from danlu.records.sql import open_records

    records = open_records(settings.database)
    (job,) = records.page(limit=1)
    for number in range(1, KNOWN):
        earlier = job.created - number
        records.add(replace(job, id=new_id(earlier), name=f"job-{number:05}", created=earlier))
    records.close()


def list_seconds(client: Client) -> float:
    """Return the median of a walk over pages: the first, and those after it."""
    taken, before = [], ""
    for _ in range(20):
        began = time.perf_counter()
        page = client.jobs(limit=PAGE, before=before)
        taken.append(time.perf_counter() - began)
        before = page["next"]
    return statistics.median(taken)


def family(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    for name in os.listdir(f"/proc/{pid}/task"):
        children = Path(f"/proc/{pid}/task/{name}/children").read_text().split()
        found += [one for child in children for one in family(int(child))]
    return found


def _resident(pid: int) -> int:
    """Return bytes in memory, those shared with others divided among them."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK
