"""Whole programs that live on object stores, as the services' documents write them."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from seaweed import Seaweed

SOURCES = Path(__file__).parent / "tf1"

# A script of the first generation: it copies its data in and its model out by itself.
COPIES = """\
import argparse
import csv
import json
import os
import moxing as mox

parser = argparse.ArgumentParser()
parser.add_argument('--data_url')
parser.add_argument('--train_url')
args, _ = parser.parse_known_args()
print('data', args.data_url)

mox.file.copy_parallel(args.data_url, '/cache/data')
os.makedirs('/cache/out')
slope = 0.0
for step in range(200):
    for name in sorted(os.listdir('/cache/data')):
        with open(os.path.join('/cache/data', name)) as file:
            for x, y in csv.reader(file):
                slope -= 0.1 * (slope * float(x) - float(y)) * float(x)
with open('/cache/out/model.json', 'w') as file:
    json.dump({'slope': slope}, file)
mox.file.copy_parallel('/cache/out', args.train_url)
print('there', sorted(mox.file.list_directory(args.train_url)))
"""

# A script of the second generation: directories are given, the platform moves the bytes.
READS = """\
import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument('--data_url')
parser.add_argument('--train_url')
args, _ = parser.parse_known_args()
names = sorted(os.listdir(args.data_url))
print('found', names)
with open(os.path.join(args.train_url, 'names.txt'), 'w') as file:
    file.write(','.join(names))
print('key', os.environ.get('AWS_SECRET_ACCESS_KEY'), os.environ.get('S3_ENDPOINT'))
"""


@pytest.fixture
def data(person):
    folder = person.folder / "data"
    folder.mkdir()
    for number in range(3):
        rows = [f"{x / 10},{x * 3 / 10}" for x in range(1, 6)]
        (folder / f"part-{number}.csv").write_text("\n".join(rows))
    return folder


@pytest.fixture
def elsewhere(person, seaweed: Seaweed):
    """Let the person's settings name a real service; return its keys."""
    seaweed.bucket("programs")
    found = seaweed.endpoint
    person.home.mkdir(exist_ok=True)
    (person.home / "settings.toml").write_text(
        "\n".join(
            f'[stores.{scheme}]\nendpoint = "{found.endpoint}"\n'
            f'access_key = "{found.access_key}"\nsecret_key = "{found.secret_key}"'
            for scheme in ("obs", "ks3")
        )
    )
    return [str(found.access_key), str(found.secret_key)]


def slope(person, uri):
    return json.loads(person.types("store", "cat", uri).stdout)["slope"]


@pytest.mark.parametrize("dialect", ["dls", "modelarts"])
def test_script_copies_data_and_model_with_moxing(person, data, dialect):
    person.types("store", "cp", data, "s3://bucket/flowers")

    done = person.types("run", person.script(COPIES), "--dialect", dialect,
                        "--data-url", "s3://bucket/flowers",
                        "--train-url", "s3://bucket/log")  # fmt: skip

    slash = "/" if dialect == "modelarts" else ""  # as each service passed it
    assert f"data s3://bucket/flowers{slash}\nthere ['model.json']\n" in done.stdout
    assert slope(person, "obs://bucket/log/model.json") == pytest.approx(3, abs=0.01)


def test_script_copies_with_moxing_from_store_elsewhere(person, data, elsewhere):
    person.types("store", "sync", data, "obs://programs/in")

    done = person.types("run", person.script(COPIES), "--dialect", "dls",
                        "--data-url", "s3://programs/in",
                        "--train-url", "obs://programs/model 1")  # fmt: skip

    assert "there ['model.json']\n" in done.stdout
    assert slope(person, "obs://programs/model 1/model.json") == pytest.approx(3, abs=0.01)
    assert not (person.home / "store" / "buckets" / "programs").exists()


def test_channels_come_from_and_go_to_store_elsewhere(person, data, elsewhere):
    person.types("store", "sync", data, "obs://programs/in")
    words = ("run", person.script(READS), "--data-url", "obs://programs/in")

    first = person.types(*words, "--train-url", "obs://programs/one", "--name", "one")
    second = person.types(*words, "--train-url", "s3://programs/two", "--name", "two")

    assert "found ['part-0.csv', 'part-1.csv', 'part-2.csv']\n" in first.stdout
    assert re.search(r"key \*\*\* http://127.0.0.1:\d+\n", first.stdout)
    assert re.search(r"\[danlu\] data_url: \S+ B, cached", second.stdout + second.stderr)
    for name in ("one", "two"):
        reported = person.types("store", "cat", f"obs://programs/{name}/names.txt").stdout
        assert reported == "part-0.csv,part-1.csv,part-2.csv"


def test_tools_of_the_store_work_with_nothing_configured(person, elsewhere):
    script = person.script("""\
import botocore.session
client = botocore.session.get_session().create_client('s3')
client.put_object(Bucket='programs', Key='by/boto.txt', Body=b'written')
found = client.list_objects_v2(Bucket='programs', Prefix='by/')
print('found', [item['Key'] for item in found['Contents']])
""")

    done = person.types("run", script)

    assert "found ['by/boto.txt']\n" in done.stdout
    assert person.types("store", "cat", "obs://programs/by/boto.txt").stdout == "written"


@pytest.mark.parametrize("service", ["embedded", "elsewhere"])
def test_the_program_of_kdls_manual_trains_on_ks3(person, request, service):
    if service == "elsewhere":
        request.getfixturevalue("elsewhere")
    shutil.copytree(SOURCES / "line", person.folder / "line")
    places = ("checkpoint", "output", "model")
    words = [f"--{place}_path=ks3://programs/kdl/{place}" for place in places]

    done, again = (
        person.types("run", "line", "--module", "trainer.task", "--", "--max_epochs", epochs,
                     "--optimizer=adam", "--learning_rate=0.5", version, *words)
        for epochs, version in (("150", "--model_version=1"), ("50", "--model_version=2"))
    )  # fmt: skip

    # What it saved it finds again: checkpoint and SavedModel are loaded by the program itself.
    assert "1 answers 16.0\n" in done.stdout
    assert "Continue from step 150\n" in again.stdout
    assert "2 answers 16.0\n" in again.stdout
    found = person.asks("store", "ls", "-r", "ks3://programs/kdl")["objects"]
    names = [item["name"] for item in found]
    assert "checkpoint/checkpoint" in names
    assert any(re.fullmatch(r"output/.*events\.out\.tfevents\..+", name) for name in names)
    assert "model/1/saved_model.pb" in names


def test_keys_of_store_are_nowhere_to_be_read(person, data, elsewhere):
    person.types("store", "sync", data, "obs://programs/in")
    script = person.script(READS.replace("print('key'", "print('key', dict(os.environ)"))

    done = person.types("run", script, "--name", "job", "--data-url", "obs://programs/in",
                        "--train-url", "obs://programs/out")  # fmt: skip
    shown = [
        done,
        person.types("show", "job"),
        person.types("show", "job", "--json"),
        person.types("logs", "job"),
        person.types("settings"),
        person.types("doctor"),
        person.types("run", script, "--data-url", "obs://programs/in", "--dry-run"),
    ]

    for key in elsewhere:
        assert [run.args for run in shown if key in run.stdout + run.stderr] == []
        for folder, _, names in os.walk(person.home):
            held = [n for n in names if key.encode() in _bytes(os.path.join(folder, n))]
            assert set(held) <= {"settings.toml"}, folder


def _bytes(path):
    if not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        return file.read()
