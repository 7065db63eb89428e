"""What was acknowledged is there after kill -9, whenever it came."""

import random
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from contracts.records import a_job
from danlu.records.sql import open_records

WRITER = Path(__file__).with_name("writer.py")


@pytest.mark.parametrize("rounds", [5, pytest.param(200, marks=[pytest.mark.long])])
@pytest.mark.timeout(600)
def test_acknowledged_writes_survive_killed_writer(tmp_path, rounds):
    seed = random.randrange(1 << 32)
    print(f"seed={seed}")
    chance = random.Random(seed)
    path = tmp_path / "danlu.db"
    tokens, versions = {}, {}

    for number in range(rounds):
        for line in killed_writer(path, f"round-{number}", lines=chance.randint(1, 60)):
            match line.split():
                case ["added", token, job_id]:
                    tokens[token] = job_id
                case ["saved", job_id, version]:
                    versions[job_id] = int(version)
        check(path, tokens, versions)


def killed_writer(path, label, lines):
    """Run a writer, kill it after so many acknowledgements, return its output."""
    writer = subprocess.Popen(
        [sys.executable, str(WRITER), str(path), label], stdout=subprocess.PIPE, text=True
    )
    with writer:
        output = [writer.stdout.readline() for _ in range(lines)]
        writer.kill()
        output += writer.stdout.readlines()
    assert writer.returncode == -9
    return [line for line in output if line.endswith("\n")]


def check(path, tokens, versions):
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    records = open_records(path)
    there = {job.id: job for job in records.page(limit=100_000)}
    assert set(tokens.values()) <= set(there)
    assert all(there[job_id].version >= version for job_id, version in versions.items())
    # A client without a response repeats its token: the same job, or its first and only one.
    last = list(tokens)[-1]
    missed = f"{last.rpartition('-')[0]}-{int(last.rpartition('-')[2]) + 1}"
    tokens[missed] = records.add(a_job(missed), missed).id
    names = Counter(job.name for job in records.page(limit=100_000))
    assert names[missed] == 1
    assert records.add(a_job("again"), last).id == tokens[last]
    records.close()
