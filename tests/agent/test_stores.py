"""What a script reaches of the object stores, and where their keys are not."""

import dataclasses
import itertools
import json
import os
from pathlib import Path

import pytest

from contracts.s3_server import Silence, SmallS3, endpoint, serve
from contracts.storage import MemoryStorage
from danlu.agent.reports.progress import Reporter
from danlu.agent.script.environment import child_environment
from danlu.job.plan import Command, Fetch, Place, Push, Task
from danlu.job.state import Reason
from danlu.settings import Endpoint, Secret, Settings
from danlu.storage.locate import Location, Stores
from danlu.storage.transfer import pull

OBS = Endpoint(
    "https://obs.example", "cn-north-4", "virtual", Secret("obs-access"), Secret("obs-secret")
)
KS3 = Endpoint("http://ks3.example:80", "", "path", Secret("ks3-access"), Secret("ks3-secret"))


def environment(stores, dialect="kdl", env=None, secrets=None):
    task = Task("j", "job", dialect, 1, Place("worker", 0), Command("train.py", env=env or {}))
    settings = Settings(home=Path("/home"), stores=stores)
    return child_environment(task, "/box", secrets or {}, {}, settings)


STORES = """
    import os
    from danlu.settings import load
    from danlu.storage.locate import Stores

    stores = Stores.of(load())
    found = stores.at("obs://bucket/in.txt")
    print("read", found.storage.read("in.txt"))
    found.storage.write("out/a b.txt", b"out")
    print("code", os.path.exists(os.path.join(os.environ["DANLU_STORE"], "code")))
"""


def test_a_script_reads_and_writes_the_embedded_store(each_bench):
    stores = Stores(each_bench.home / "store")
    stores.at("obs://bucket/in.txt").storage.write("in.txt", b"in")
    source = Path(__file__).parent.parent.parent / "src"
    files = each_bench.plan(STORES, env={"PYTHONPATH": str(source)})

    outcome = each_bench.run(files)

    assert outcome.reason is Reason.DONE, each_bench.log(files)
    assert "read b'in'\n" in each_bench.log(files)
    assert stores.at("s3://bucket/").storage.read("out/a b.txt") == b"out"
    hides = each_bench.isolation.private_paths
    assert f"code {not hides}\n" in each_bench.log(files)


def test_the_script_of_a_rehearsal_changes_no_bucket(bench):
    bucket = bench.home / "store/buckets/b-1"
    (bucket / "ckpt").mkdir(parents=True)
    (bucket / "ckpt/checkpoint").write_text("real")
    files = bench.plan(
        """
        import moxing as mox
        print("found", mox.file.read("ks3://b-1/ckpt/checkpoint"))
        mox.file.write("ks3://b-1/ckpt/checkpoint", "new")
        mox.file.write("ks3://b-1/ckpt/model", "model")
        print("now", mox.file.list_directory("ks3://b-1/ckpt"))
        """,
        scratch="obs://danlu-rehearsals/a-job",
    )

    outcome = bench.run(files)

    assert outcome.reason is Reason.DONE, bench.log(files)
    assert "found real" in bench.log(files)
    assert "now ['checkpoint', 'model']" in bench.log(files)
    assert {path.name: path.read_text() for path in (bucket / "ckpt").iterdir()} == {
        "checkpoint": "real"
    }
    scratch = bench.home / "store/buckets/danlu-rehearsals/a-job/redirected.urls/obs/b-1"
    assert (scratch / "written/ckpt/model").read_text() == "model"


def test_store_apart_from_home_is_reached_as_well(bench, tmp_path, monkeypatch):
    monkeypatch.setenv("DANLU_STORE", str(tmp_path / "elsewhere"))
    bench_code = bench.home / "store" / "code"
    files = bench.plan("import os\nopen(os.environ['DANLU_STORE'] + '/buckets/new', 'w').close()")
    (tmp_path / "elsewhere").mkdir()
    bench_code.rename(tmp_path / "elsewhere" / "code")

    outcome = bench.run(files)

    assert outcome.reason is Reason.DONE, bench.log(files)
    assert os.listdir(tmp_path / "elsewhere" / "buckets") == ["new"]


def test_keys_of_endpoint_are_in_environment_only(bench, monkeypatch):
    keys = {"access": "AKIDONLYFORTESTS", "secret": "sEcReT/of+a/store"}
    monkeypatch.setenv("DANLU_OBS_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("DANLU_OBS_ACCESS_KEY", keys["access"])
    monkeypatch.setenv("DANLU_OBS_SECRET_KEY", keys["secret"])
    files = bench.plan("""
        import os
        env = os.environ
        print("same", env["AWS_SECRET_ACCESS_KEY"] == env["DANLU_OBS_SECRET_KEY"] != "")
        print("told", env["AWS_ACCESS_KEY_ID"], env["DANLU_OBS_SECRET_KEY"], env["S3_USE_HTTPS"])
        print(open(env["AWS_CONFIG_FILE"]).read(), open(env["S3CMD_CONFIG"]).read())
    """)

    outcome = bench.run(files)

    assert outcome.reason is Reason.DONE, bench.log(files)
    log = bench.log(files)
    assert "same True\ntold *** *** 0\n" in log
    assert "addressing_style = path" in log
    assert "host_base = 127.0.0.1:9\n" in log
    for path in (path for path in bench.home.rglob("*") if path.is_file()):
        held = path.read_bytes()
        assert not any(key.encode() in held for key in keys.values()), path


@pytest.mark.parametrize(
    ("dialect", "stores", "url"),
    [
        ("kdl", {"obs": OBS, "ks3": KS3}, KS3.endpoint),
        ("modelarts", {"obs": OBS, "ks3": KS3}, OBS.endpoint),
        ("dls", {"s3": OBS, "ks3": KS3}, OBS.endpoint),
        ("ti", {"ks3": KS3, "obs": OBS}, OBS.endpoint),
        ("ti", {"ks3": KS3}, KS3.endpoint),
    ],
)
def test_tools_find_the_store_of_the_service(dialect, stores, url):
    env = environment(stores, dialect)

    assert (env["S3_ENDPOINT"], env["AWS_ENDPOINT_URL"]) == (url, url)


def test_every_scheme_with_endpoint_is_passed():
    env = environment({"obs": OBS, "ks3": KS3})

    assert env["DANLU_OBS_ENDPOINT"] == OBS.endpoint
    assert env["DANLU_KS3_SECRET_KEY"] == "ks3-secret"
    assert env["OBS_ACCESS_KEY_ID"] == "obs-access"
    assert "DANLU_COS_ENDPOINT" not in env
    assert json.loads(json.dumps(env)) == env


def test_the_embedded_store_has_no_endpoint():
    env = environment({})

    assert env["DANLU_STORE"] == "/home/store"
    assert not [name for name in env if name.startswith(("AWS_", "S3_"))]


def test_job_that_brings_keys_has_its_own_only():
    mine = {"AWS_ACCESS_KEY_ID": "mine", "AWS_SECRET_ACCESS_KEY": "too"}

    env = environment({"ks3": KS3}, secrets=mine)

    assert {name for name in env if name.startswith("AWS_")} == set(mine)
    assert "S3_ENDPOINT" not in env
    assert env["DANLU_KS3_ENDPOINT"] == KS3.endpoint


def test_the_scheme_of_the_url_decides_about_https():
    preset = {"S3_USE_HTTPS": "1", "S3_VERIFY_SSL": "0"}
    secure = dataclasses.replace(KS3, endpoint="https://ks3.example")

    assert environment({"ks3": KS3}, env=preset)["S3_USE_HTTPS"] == "0"
    assert environment({"ks3": secure}, env=preset)["S3_USE_HTTPS"] == "1"
    assert environment({}, env=preset) | preset == environment({}, env=preset)


@pytest.fixture
def service(monkeypatch):
    """A store elsewhere that the agent's settings name, with three objects of data."""
    small = SmallS3("bucket")
    with serve(small) as url:
        found = endpoint(url)
        monkeypatch.setenv("DANLU_OBS_ENDPOINT", found.endpoint)
        monkeypatch.setenv("DANLU_OBS_ACCESS_KEY", found.access_key)
        monkeypatch.setenv("DANLU_OBS_SECRET_KEY", found.secret_key)
        storage = Stores(Path("/none"), {"obs": found}).at("obs://bucket").storage
        for name in ("a", "b"):
            storage.write(f"data/{name}", name.encode())
        storage.write("data/large", bytes(20 << 20))
        small.requests.clear()
        yield small


DATA = Fetch("obs://bucket/data", "/cache/data", "data")
OUT = Push("/cache/out", "obs://bucket/out", "out")
COPY = """
    import os, shutil
    shutil.copytree("/cache/data", "/cache/new")
    os.makedirs("/cache/out", exist_ok=True)
    for name in os.listdir("/cache/new"):  # a mirror that is quick sees whole files
        os.rename("/cache/new/" + name, "/cache/out/" + name)
    print("found", sorted(os.listdir("/cache/out")))
"""


def gets(service):
    """Return the objects that were fetched, but for the platform's own."""
    asked = [request.key for request in service.requests if request.method == "GET"]
    return [key for key in asked if key and ".danlu/" not in key]


def test_second_job_on_same_data_fetches_nothing(bench, service):
    first = bench.plan(COPY, fetch=(DATA,), push=(OUT,))
    assert bench.run(first).reason is Reason.DONE, bench.log(first)
    assert service.buckets["bucket"]["out/large"].data == bytes(20 << 20)
    service.requests.clear()
    bench.job_id = bench.job_id[::-1]
    second = bench.plan(COPY, fetch=(DATA,), push=(OUT,))

    outcome = bench.run(second)

    assert outcome.reason is Reason.DONE, bench.log(second)
    assert "found ['a', 'b', 'large']\n" in bench.log(second)
    assert "data: 21.0 MB, cached" in bench.log(second)
    assert gets(service) == []
    # What the first one stored is there: it is looked at, and not sent.
    theirs = [each for each in service.requests if each.key and ".danlu/" not in each.key]
    assert {request.method for request in theirs} <= {"HEAD"}
    assert outcome.pushed_files == 3


def test_killed_fetch_goes_on_where_it_was(bench, service, until):
    third = f"bytes={16 << 20}-{(20 << 20) - 1}"  # of three requests for the large object

    def hang(request):
        if request.headers.get("range") == third:
            raise Silence

    service.faults.append(hang)
    first = bench.plan(COPY, fetch=(DATA,), push=(OUT,))
    agent = bench.start(first)
    trees = bench.home / "cache" / "trees"
    until(lambda: any(map(two_thirds, trees.glob(".part-*/.danlu-*"))))
    agent.kill()
    agent.wait()
    service.faults.clear()
    service.requests.clear()

    again = bench.plan(COPY, fetch=(DATA,), push=(OUT,), attempt=2)
    outcome = bench.run(again)

    assert outcome.reason is Reason.DONE, bench.log(again)
    asked = [r for r in service.requests if r.method == "GET" and r.key in KEYS]
    ranges = {request.headers.get("range") for request in asked}
    assert ranges == {third}
    assert {request.key for request in asked} == {"data/large"}
    assert service.buckets["bucket"]["out/large"].data == bytes(20 << 20)


KEYS = {"data/a", "data/b", "data/large"}


def two_thirds(path):
    """Return True if only the last range of the large object is missing: its file notes that."""
    noted = path.read_bytes()[20 << 20 :]
    return [int.from_bytes(noted[at : at + 8], "big") >> 20 for at in (0, 8, 16)] == [8, 16, 16]


def test_transfer_progress_is_shown_in_the_job(bench):
    """Each time the clock is asked, a second has gone."""
    files = bench.plan()
    seconds = itertools.count()
    report = Reporter(files, clock=lambda: float(next(seconds)))
    storage = MemoryStorage([("data/a", b"x" * 100), ("data/b", b"x" * 300)])
    report.begin("fetch data")

    pull(
        Location(storage, "data", "obs://bucket/data"),
        bench.home / "to",
        report.transfer("data", lambda: None),
    )

    reported = files.progress()
    assert reported.phases[-1].name == "fetch data"
    assert (reported.transfer.what, reported.transfer.done, reported.transfer.total) == (
        "data",
        400,
        400,
    )
    assert reported.transfer.rate == 400 / 3  # called at the beginning, and after each object
