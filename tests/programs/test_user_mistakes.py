"""A day of careless use: every model that a job has finished can still be had at its end."""

import errno
import os
from dataclasses import dataclass, field
from typing import Any

import pytest

from danlu.sandbox import kernel

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root")

TRAINS = """
import argparse, os, time
import moxing as mox
parser = argparse.ArgumentParser()
parser.add_argument('--train_url', default='model')
parser.add_argument('--value', type=int, required=True)
parser.add_argument('--wait_for')
args = parser.parse_args()
os.makedirs(args.train_url, exist_ok=True)
with open(os.path.join(args.train_url, 'model.h5'), 'wb') as file:
    file.write(b'model %d\\n' % args.value * 1000)
print('saved', flush=True)
while args.wait_for and not mox.file.exists(args.wait_for):
    time.sleep(0.05)
"""
# The place of the model stands in the code.
COPIES = """
import os
import moxing as mox
open('model.h5', 'wb').write(b'model %d\\n' % int(os.environ['VALUE']) * 1000)
mox.file.copy('model.h5', 'obs://day/fixed/model.h5')
os.remove('model.h5')
"""
PLACE = "obs://day/out"
KEPT_BACK, REFUSED, FAILED = 1, 2, 5


def model(value):
    return b"model %d\n" % value * 1000


class Disk:
    """A disk of a megabyte, mounted before the server is started."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        kernel.mount("tmpfs", str(folder), "tmpfs", options="size=1m")

    def fill(self):
        """Leave enough free space to begin, but not for a model."""
        with open(self.folder / "films", "wb", buffering=0) as file:
            while True:
                try:
                    file.write(bytes(4096))
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    file.truncate(file.tell() - 2 * 4096)
                    return

    def free(self):
        (self.folder / "films").unlink()


@pytest.fixture
def disk(tmp_path):
    disk = Disk(tmp_path / "disk")
    yield disk
    kernel.unmount(str(disk.folder))


@dataclass
class Day:
    """What the person does, and every model they have finished: its place and its bytes."""

    person: Any
    script: Any
    models: list[tuple[str, bytes]] = field(default_factory=list)

    def trains(self, name, value, place=PLACE, *words):
        """Run a job to its end; its model counts from then on."""
        self.person.types("run", self.script, "--dialect", "modelarts", "--name", name,
                          "--train-url", place, "-p", f"value={value}", *words)  # fmt: skip
        self.models.append((place, model(value)))

    def tries(self, *words, code=REFUSED):
        return self.person.types("run", *words, code=code)

    def bytes_at(self, uri):
        return self.person.types("store", "cat", uri).stdout.encode()

    def loses_nothing(self):
        """Every model ever finished is in its place, or a copy of it below its output.

        Looked up on the disk of the embedded store: a command for each would take minutes.
        """
        lost = [(place, data[:7]) for place, data in self.models if data not in self._at(place)]
        assert lost == []

    def _at(self, place):
        folder = self.person.home / "store" / "buckets" / place.removeprefix("obs://")
        return [path.read_bytes() for path in folder.rglob("model.h5")]


@pytest.mark.timeout(300)
def test_careless_use_loses_no_model(disk, alone, tmp_path):
    person = alone
    person.env |= {"DANLU_STORE_TIMEOUT": "0.5"}
    day = Day(person, person.script(TRAINS))

    # The first model of the day.
    day.trains("first", 1)
    day.loses_nothing()

    # Typos: a parameter, a folder of code, an input. Nothing is started.
    day.tries(day.script, "--train-url", PLACE, "-p", "valeu=2")
    day.tries("cod", "--boot-file", "train.py", "--train-url", PLACE)
    day.tries(day.script, "--data-url", "obs://day/dta", "--train-url", PLACE, "-p", "value=2")
    day.loses_nothing()

    # A typo in the output: a model at a wrong place is still a model.
    day.trains("astray", 2, "obs://day/ot")
    day.loses_nothing()

    # The same train_url for another model, twice.
    day.trains("second", 3)
    day.trains("third", 4)
    day.loses_nothing()

    # A rerun writes beside what it repeats, not over it.
    person.types("rerun", "second", "--name", "again")
    beside = person.asks("show", "again")["spec"]["outputs"]["train_url"].rstrip("/")
    assert beside != PLACE
    day.models.append((beside, model(3)))
    assert day.bytes_at(f"{PLACE}/model.h5") == model(4)
    day.loses_nothing()

    # A rehearsal with the used train_url leaves it alone.
    person.types("run", day.script, "--rehearse", "--name", "rehearsal", "--train-url", PLACE,
                 "-p", "value=99")  # fmt: skip
    assert day.bytes_at(f"{PLACE}/model.h5") == model(4)
    day.loses_nothing()

    # Two jobs at once on one train_url: the second is refused, by any name of the place.
    waits = person.begins("run", day.script, "--name", "slow", "--train-url", PLACE,
                          "-p", "value=5", "-p", "wait_for=obs://day/go")  # fmt: skip
    person.waits_for(lambda: "saved" in person.types("logs", "slow", code=None).stdout)
    day.tries(day.script, "--name", "fast", "--train-url", f"{PLACE}/", "-p", "value=6")
    day.tries(day.script, "--name", "fast", "--train-url", "s3://day/out", "-p", "value=6")
    day.loses_nothing()
    go = person.folder / "go"
    go.touch()
    person.types("store", "cp", go, "obs://day/go")
    waits.communicate(timeout=100)
    assert waits.returncode == 0
    day.models.append((PLACE, model(5)))
    day.loses_nothing()

    # A job is stopped after it has begun to write over another's model.
    stopped = person.begins("run", day.script, "--name", "stopped", "--train-url", PLACE,
                            "-p", "value=7", "-p", "wait_for=obs://day/never")  # fmt: skip
    person.waits_for(lambda: "saved" in person.types("logs", "stopped", code=None).stdout)
    person.types("stop", "stopped", "--grace", "0", "--wait")
    stopped.communicate(timeout=100)
    day.loses_nothing()

    # The disk is full. The job names the only copy, which is not removed by mistake.
    full = disk.folder / "out"
    disk.fill()
    failed = day.tries(day.script, "--name", "full", "--train-url", full, "-p", "value=8",
                       code=FAILED)  # fmt: skip
    assert "The only copy of its outputs is in " in failed.stderr
    person.types("rm", "full", code=KEPT_BACK)
    person.types("rm", "full", "--yes", code=KEPT_BACK)
    disk.free()
    person.types("store", "retry", "full")
    assert (full / "model.h5").read_bytes() == model(8)
    day.loses_nothing()

    # No output at all: what the script wrote beside itself is kept, and can be fetched.
    person.types("run", day.script, "--name", "nowhere", "-p", "value=10")
    person.types("get", "nowhere", tmp_path / "fetched")
    (fetched,) = (tmp_path / "fetched").rglob("model.h5")
    assert fetched.read_bytes() == model(10)

    # The name of a job in its output keeps runs apart.
    for name, value in (("monday", 11), ("tuesday", 12)):
        day.trains(name, value, "obs://day/runs/{name}")
        day.models[-1] = (f"obs://day/runs/{name}", model(value))
    day.loses_nothing()

    # A URL in the code: the second job replaces the model of the first there.
    copies = person.script(COPIES, "copies.py")
    for value in (13, 14):
        person.types("run", copies, "--dialect", "modelarts", "--env", f"VALUE={value}")
        day.models.append(("obs://day/fixed", model(value)))
        day.loses_nothing()

    # What the second job replaced is brought back by the name of that job.
    person.types("restore", "second")
    assert day.bytes_at(f"{PLACE}/model.h5") == model(1)
    day.loses_nothing()

    # Jobs are removed; their outputs stay.
    jobs = person.asks("ls")["jobs"]
    person.types("rm", *(job["id"] for job in jobs if job["name"] != "nowhere"))
    day.loses_nothing()
    assert (full / "model.h5").read_bytes() == model(8)

    # Each replaced model is brought back, by the place alone: the jobs are gone.
    kept = {item["id"]: day.bytes_at(f"{PLACE}/.danlu/previous/{item['id']}/model.h5")
            for item in person.asks("restore", PLACE)["kept"]}  # fmt: skip
    assert {model(value) for value in (1, 3, 4, 5)} <= {*kept.values()}
    for name, data in kept.items():
        person.types("restore", PLACE, name)
        assert day.bytes_at(f"{PLACE}/model.h5") == data
        day.loses_nothing()

    # The job with the only copy of a model in its working directory stays until a person insists.
    person.types("rm", "nowhere", code=KEPT_BACK)
    person.types("get", "nowhere", tmp_path / "fetched again")
    person.types("rm", "nowhere", "--force")
