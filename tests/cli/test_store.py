import io
import os

import pytest

from contracts.s3_server import SmallS3, Stored, Unfinished, endpoint, error, serve
from danlu.cli.session import Screen
from danlu.cli.text import Bar
from danlu.messages.terminal import CLEAR
from danlu.storage.names import temporary


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data 集"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("aa")
    (folder / "deep" / "b'c.txt").write_text("bbb")
    (folder / "empty").mkdir()
    return folder


def test_tree_goes_into_bucket_and_comes_back_whole(danlu, tree, tmp_path):
    assert danlu("store", "cp", tree.name, "obs://bucket/in").code == 0
    assert danlu("store", "cp", "s3://bucket/in", "back").code == 0

    back = tmp_path / "back"
    assert (back / "a.txt").read_text() == "aa"
    assert (back / "deep" / "b'c.txt").read_text() == "bbb"
    assert (back / "empty").is_dir()


def test_ls_shows_one_level_or_everything(danlu, tree):
    danlu("store", "cp", tree.name, "obs://bucket/in")

    names = [line.split()[-1] for line in danlu("store", "ls", "obs://bucket/in").out.splitlines()]
    every = danlu("store", "ls", "-r", "obs://bucket/in", "--json").json["objects"]

    assert names == ["a.txt", "deep/", "empty/"]
    assert [item["name"] for item in every] == ["a.txt", "deep/b'c.txt", "empty/"]
    assert danlu("store", "ls").out.split() == ["obs://bucket/"]


@pytest.mark.parametrize(
    ("target", "key"),
    [
        ("obs://bucket/x/", "obs://bucket/x/a.txt"),
        ("obs://bucket/x", "obs://bucket/x"),
        ("obs://bucket", "obs://bucket/a.txt"),
        ("obs://bucket/x//y", "obs://bucket/x//y"),
        ("new.txt", "new.txt"),
        ("new/folder/", "new/folder/a.txt"),
        ("data 集/deep", "data 集/deep/a.txt"),
        ("file:///tmp/../{tmp}/n%20w.txt", "n w.txt"),
    ],
)
def test_where_a_single_object_goes(danlu, tree, tmp_path, target, key):
    danlu("store", "cp", "data 集/a.txt", target.format(tmp=tmp_path))

    assert danlu("store", "cat", key).out == "aa"


def test_du_adds_up(danlu, tree):
    total = danlu("store", "du", "data 集", "--json").json

    assert total["size"] == 5
    assert danlu("store", "du", "data 集").out.splitlines()[-1].split() == [
        "5",
        "B",
        "3",
        "data",
        "集",
    ]


def test_tree_is_removed_only_when_that_is_meant(danlu, tree):
    danlu("store", "cp", tree.name, "obs://bucket/in")

    refused = danlu("store", "rm", "obs://bucket/in")
    assert refused.code == 2
    assert "write -r" in refused.err
    assert danlu("store", "rm", "-r", "obs://bucket/in").code == 0
    assert danlu("store", "ls", "obs://bucket/in").code == 3


def test_removing_a_local_tree_takes_its_folders_too(danlu, tree):
    danlu("store", "rm", "-r", tree.name)

    assert list(tree.iterdir()) == []


@pytest.mark.parametrize("place", ["/", "file:///", "//", "."])
def test_a_whole_home_or_machine_is_never_removed(danlu, tree, tmp_path, monkeypatch, place):
    from danlu.cli.objects import Objects
    from danlu.errors import Refused
    from danlu.settings import load

    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(Refused, match="all you have"):
        Objects(load()).check_not_everything(place)


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (("cat", "obs://bucket/none"), 3, "There is no object named 'obs://bucket/none'."),
        (("cat", "data 集"), 3, "It is a tree"),
        (("ls", "gopher://x/y"), 3, "There is no scheme named 'gopher'."),
        (("rm", "nothing"), 3, "There is no object"),
        (("cp", "data 集", "data 集/a.txt"), 2, "is a file"),
    ],
)
def test_impossible_request_is_reported_in_one_line(danlu, tree, args, code, text):
    result = danlu("store", *args)

    assert result.code == code
    assert text in result.err


def test_bucket_of_server_elsewhere_is_not_searched_here(danlu, tree):
    result = danlu("store", "ls", "obs://bucket", "--server", "http://other:9420")

    assert result.code == 1
    assert "belongs to the server http://other:9420" in result.err


def keys(result, action):
    return [line["key"] for line in result.ndjson if line.get("action") == action]


def test_sync_copies_what_is_new_or_different(danlu, tree):
    danlu("store", "sync", tree.name, "obs://bucket/in")
    (tree / "a.txt").write_text("AA")
    (tree / "new").write_text("n")

    plan = danlu("store", "sync", tree.name, "obs://bucket/in", "--dry-run", "--json")
    done = danlu("store", "sync", tree.name, "obs://bucket/in", "--json")
    again = danlu("store", "sync", tree.name, "obs://bucket/in", "--json")

    assert keys(plan, "copy") == keys(done, "copy") == ["in/a.txt", "in/new"]
    assert plan.ndjson[-1]["dry_run"] is True
    assert again.ndjson == [{"copied": 0, "same": 4, "removed": 0, "size": 0, "dry_run": False}]
    assert danlu("store", "cat", "obs://bucket/in/a.txt").out == "AA"


def test_sync_removes_only_when_asked(danlu, tree, tmp_path):
    danlu("store", "sync", tree.name, "obs://bucket/in")
    danlu("store", "sync", "obs://bucket/in", "back")
    (tmp_path / "back" / "more" / "deep").mkdir(parents=True)
    (tmp_path / "back" / "more" / "deep" / "x").write_text("x")

    kept = danlu("store", "sync", "obs://bucket/in", "back")
    planned = danlu("store", "sync", "obs://bucket/in", "back", "--delete", "-n")
    assert (tmp_path / "back" / "more" / "deep" / "x").exists()
    done = danlu("store", "sync", "obs://bucket/in", "back", "--delete")

    assert "0 removed" in kept.err
    assert planned.out == "remove  more/deep/x\n"
    assert "1 removed" in done.err
    assert sorted(path.name for path in (tmp_path / "back").iterdir()) == ["a.txt", "deep", "empty"]


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [
        ("obs://bucket/in", "obs://bucket/in/deep", "overlap"),
        ("obs://bucket/in", "s3://bucket", "overlap"),
        ("data 集", "data 集", "overlap"),
        ("data 集/a.txt", "obs://bucket/x", "is a single object"),
    ],
)
def test_a_sync_that_cannot_be_meant_is_refused(danlu, tree, source, target, text):
    danlu("store", "cp", tree.name, "obs://bucket/in")

    result = danlu("store", "sync", source, target, "--delete")

    assert result.code == 2
    assert text in result.err
    assert danlu("store", "cat", "obs://bucket/in/a.txt").out == "aa"


def test_a_removal_may_be_tried_first(danlu, tree):
    danlu("store", "cp", tree.name, "obs://bucket/in")

    plan = danlu("store", "rm", "-r", "-n", "obs://bucket/in", "--json").json

    assert plan == {"uri": "obs://bucket/in", "removed": 0, "keys": ["in/a.txt", "in/deep/b'c.txt"]}
    assert danlu("store", "rm", "-n", "obs://bucket/in/a.txt").out == "remove  in/a.txt\n"
    assert danlu("store", "cat", "obs://bucket/in/a.txt").out == "aa"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("obs://bucket/*.txt", ["a.txt", "b.txt"]),
        ("obs://bucket/?.txt", ["a.txt", "b.txt"]),
        ("obs://bucket/[!a].txt", ["b.txt"]),
        ("obs://bucket/**.txt", ["a.txt", "b.txt", "run-1/c.txt", "run-2/c.txt"]),
        ("obs://bucket/run-*/c.txt", ["run-1/c.txt", "run-2/c.txt"]),
        ("obs://bucket/run-*", ["run-1/c.txt", "run-2/c.txt"]),
    ],
)
def test_patterns_name_objects_as_in_a_shell(danlu, tree, pattern, found):
    for key in ("a.txt", "b.txt", "c.csv", "run-1/c.txt", "run-2/c.txt"):
        danlu("store", "cp", "data 集/a.txt", f"obs://bucket/{key}")

    listed = danlu("store", "ls", "-r", pattern, "--json").json["objects"]

    assert [item["name"] for item in listed] == [f"obs://bucket/{name}" for name in found]


def test_patterns_are_understood_where_objects_are_named(danlu, tree, tmp_path):
    for key in ("a.txt", "b.txt", "run-1/c.txt", "run-2/c.txt", "odd*key"):
        danlu("store", "cp", "data 集/a.txt", f"obs://bucket/{key}")

    assert danlu("store", "cat", "obs://bucket/*.txt").out == "aaaa"
    danlu("store", "cp", "obs://bucket/run-*", "obs://bucket/b.txt", "out")
    copied = sorted(path.relative_to(tmp_path) for path in (tmp_path / "out").rglob("*.txt"))
    assert list(map(str, copied)) == ["out/b.txt", "out/run-1/c.txt", "out/run-2/c.txt"]
    danlu("store", "cp", "data 集/*.txt", "obs://bucket/local/")
    assert danlu("store", "cat", "obs://bucket/local/a.txt").out == "aa"
    assert danlu("store", "cat", "obs://bucket/odd*key").out == "aa"
    assert danlu("store", "du", "obs://bucket/run-*", "--json").ndjson[1]["size"] == 2
    assert danlu("store", "rm", "obs://bucket/*.txt").code == 0
    assert danlu("store", "ls", "obs://bucket/*.txt").code == 3


def test_the_embedded_store_reports_that_it_is(danlu, tree, home):
    listed = danlu("store", "ls")
    copied = danlu("store", "cp", tree.name, "obs://bucket/in")
    missing = danlu("store", "cat", "ks3://other/x")

    assert f"cos://: the embedded store, in {home}/store" in listed.err
    assert copied.err.endswith("(embedded store)\n")
    assert "No endpoint is set for this scheme" in missing.err


@pytest.fixture
def service(monkeypatch):
    """Two services elsewhere, one of OBS and one of KS3, with nothing in them."""
    small = SmallS3("bucket", "other")
    with serve(small) as url:
        for scheme in ("OBS", "KS3"):
            found = endpoint(url)
            monkeypatch.setenv(f"DANLU_{scheme}_ENDPOINT", found.endpoint)
            monkeypatch.setenv(f"DANLU_{scheme}_ACCESS_KEY", found.access_key)
            monkeypatch.setenv(f"DANLU_{scheme}_SECRET_KEY", found.secret_key)
        yield small


def test_every_command_works_on_a_service_elsewhere(danlu, tree, tmp_path, service):
    assert danlu("store", "sync", tree.name, "obs://bucket/in").code == 0
    again = danlu("store", "sync", tree.name, "s3://bucket/in", "--json").ndjson[-1]
    down = danlu("store", "sync", "obs://bucket/in", "back", "--json").ndjson[-1]
    same = danlu("store", "sync", "obs://bucket/in", "back", "--json").ndjson[-1]

    assert set(service.buckets["bucket"]) == {"in/a.txt", "in/deep/b'c.txt", "in/empty/"}
    assert (again["copied"], down["copied"], same["copied"]) == (0, 3, 0)
    assert (tmp_path / "back" / "deep" / "b'c.txt").read_text() == "bbb"
    names = [line.split()[-1] for line in danlu("store", "ls", "obs://bucket/in").out.splitlines()]
    assert names == ["a.txt", "deep/", "empty/"]
    assert danlu("store", "cat", "obs://bucket/in/*.txt").out == "aa"
    assert danlu("store", "du", "obs://bucket", "--json").json["size"] == 5
    assert danlu("store", "rm", "-r", "obs://bucket/in").code == 0
    assert service.buckets["bucket"] == {}


def test_a_copy_within_a_bucket_stays_there(danlu, tree, service):
    danlu("store", "cp", tree.name, "obs://bucket/in")
    service.requests.clear()

    assert danlu("store", "cp", "obs://bucket/in", "s3://bucket/out").code == 0

    assert [r.key for r in service.requests if r.method == "GET" and r.key] == []
    assert service.buckets["bucket"]["out/a.txt"].data == b"aa"


def test_a_copy_goes_from_one_service_to_another(danlu, tree, service):
    danlu("store", "cp", tree.name, "obs://bucket/in")

    assert danlu("store", "sync", "obs://bucket/in", "ks3://other/in").code == 0
    assert service.buckets["other"]["in/a.txt"].data == b"aa"
    done = danlu("store", "sync", "obs://bucket/in", "ks3://other/in", "--json").ndjson[-1]
    assert done["copied"] == 0


def test_which_service_a_scheme_means_is_reported(danlu, service):
    found = danlu("store", "ls", "--json").json

    assert found["embedded"] == ["cos"]
    assert set(found["endpoints"]) == {"obs", "s3", "ks3"}
    assert "ks3://: http://127.0.0.1" in danlu("store", "ls").err


def test_refusal_of_a_service_is_reported(danlu, tree, service, monkeypatch):
    monkeypatch.setenv("DANLU_OBS_SECRET_KEY", "wrong")

    result = danlu("store", "cp", tree.name, "obs://bucket/in")

    assert result.code == 1
    assert "Traceback" not in result.err
    assert "secret" in result.err
    assert "wrong" not in result.err


def test_a_service_is_reached_beside_a_server_elsewhere(danlu, service):
    service.buckets["bucket"]["a"] = Stored(b"1", "e", {})

    assert danlu("store", "cat", "obs://bucket/a", "--server", "http://other:9420").out == "1"


def test_a_bar_shows_how_far_a_copy_is(tmp_path):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    err = Terminal()
    now = iter([0.0, 1.0, 1.05, 2.0])
    with Bar(Screen({}, io.StringIO(), err), "out", lambda: next(now)) as bar:
        bar(250_000, 1_000_000)
        bar(300_000, 1_000_000)
        bar(1_000_000, 1_000_000)

    shown = err.getvalue().split(CLEAR)
    assert shown == [
        "",
        "out  [#####...............]  250.0 kB / 1.0 MB  250.0 kB/s",
        "out  [####################]  1.0 MB / 1.0 MB  500.0 kB/s",
        "",
    ]


def test_the_buckets_of_a_service_are_listed_once(danlu, tree, service):
    danlu("store", "cp", tree.name, "cos://near/in")

    listed = danlu("store", "ls")

    assert listed.out.split() == ["cos://near/", "obs://bucket/", "obs://other/"]
    names = [item["name"] for item in danlu("store", "ls", "--json").json["objects"]]
    assert names == listed.out.split()


def test_failed_bucket_listing_hides_no_other_service(danlu, service):
    service.faults = [lambda request: error(403, "AccessDenied") if not request.key else None]

    listed = danlu("store", "ls")

    assert listed.code == 0
    assert "Cannot list the buckets of" in listed.err


def test_what_a_killed_writer_left_is_swept(danlu, tree, service):
    service.uploads["u1"] = Unfinished("in/model", {})
    service.uploads["u2"] = Unfinished("out/model", {})
    service.uploads["u3"] = Unfinished("out/other", {})

    reported = danlu("store", "sweep", "obs://bucket/out", "-n", "--json").json
    young = danlu("store", "sweep", "obs://bucket/out", "--hours", "1e6", "--json").json
    gone = danlu("store", "sweep", "obs://bucket/out")

    assert (reported["removed"], reported["keys"]) == (0, ["out/model", "out/other"])
    assert young["keys"] == []
    assert "2 removed" in gone.err
    assert set(service.uploads) == {"u1"}


def test_upload_is_noted_from_first_command_on(danlu, tree, service, home):
    (tree / "large").write_bytes(bytes(20 << 20))
    noted = []

    def look(request):
        if "partNumber" in request.query:
            noted.append(len(list((home / "uploads").iterdir())))

    service.faults = [look]
    assert not home.exists()

    assert danlu("store", "cp", f"{tree.name}/large", "obs://bucket/large").code == 0

    assert noted == [1, 1, 1]  # who was killed then is gone on from
    assert list((home / "uploads").iterdir()) == []


@pytest.mark.parametrize("place", ["obs://bucket/in", "home/store/buckets/bucket"])
def test_temporary_names_of_killed_writers_are_swept(danlu, tree, home, place):
    danlu("store", "cp", tree.name, "obs://bucket/in")
    left = home / "store" / "buckets" / "bucket" / "in" / temporary("0123456789ab")
    left.write_text("half")
    now = danlu("store", "sweep", place, "--hours", "0", "--json").json
    os.utime(left, (1, 1))

    old = danlu("store", "sweep", place, "--json").json

    assert (now["removed"], old["removed"]) == (0, 1)
    assert not left.exists()
    assert danlu("store", "cat", "obs://bucket/in/a.txt").out == "aa"


def test_a_sweep_does_not_leave_the_bucket(danlu, tree, home):
    danlu("store", "cp", tree.name, "obs://bucket/in")
    left = home / "store" / "buckets" / "other" / temporary("0123456789ab")
    left.parent.mkdir()
    left.write_text("half")
    os.utime(left, (1, 1))

    assert danlu("store", "sweep", "obs://bucket/../other", "--json").json["removed"] == 0
    assert left.exists()


@pytest.fixture
def used(danlu, tmp_path, monkeypatch):
    """An output in which a job has replaced a model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").write_text("old")
    (tmp_path / "new").write_text("newer")
    danlu("store", "cp", "new", "obs://bucket/out/model")
    danlu("store", "cp", "old", "obs://bucket/out/.danlu/previous/job-1/model")
    danlu("store", "cp", "old", "obs://bucket/out/.danlu/start/job-1.json")
    return "obs://bucket/out"


def test_kept_files_are_restored_without_their_job(danlu, used):
    listed = danlu("restore", used, "--json").json["kept"]
    done = danlu("restore", used, "job-1")
    (undo,) = [each["id"] for each in danlu("restore", used, "--json").json["kept"]][1:]

    assert [(each["id"], each["files"], each["size"]) for each in listed] == [("job-1", 1, 3)]
    assert done.out.split() == ["model"]
    assert danlu("store", "cat", f"{used}/model").out == "old"
    danlu("restore", used, undo)
    assert danlu("store", "cat", f"{used}/model").out == "newer"
    assert danlu("restore", used, "job-2").code == 3
    assert "no copies are kept" in danlu("restore", "obs://bucket/elsewhere").err


def test_a_path_is_restored_as_its_uri_is(danlu, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "out/.danlu/previous/job-1"
    kept.mkdir(parents=True)
    (kept / "model").write_text("old")

    for place in (str(tmp_path / "out"), "./out", "out/", (tmp_path / "out").as_uri()):
        listed = danlu("restore", place, "--json").json["kept"]
        assert [each["id"] for each in listed] == ["job-1"]

    assert danlu("restore", "./out", "job-1").code == 0
    assert (tmp_path / "out/model").read_text() == "old"


def test_own_folder_is_skipped_unless_named(danlu, used, tmp_path):
    assert danlu("store", "ls", used).out.split()[-1] == "model"
    assert [x["name"] for x in danlu("store", "ls", "-r", used, "--json").json["objects"]] == [
        "model"
    ]
    assert danlu("store", "du", used, "--json").json["objects"] == 1
    danlu("store", "cp", "-r", used, "copied")
    danlu("store", "sync", "obs://bucket", "synced")
    named = danlu("store", "ls", "-r", f"{used}/.danlu", "--json").json["objects"]

    assert [path.name for path in (tmp_path / "copied").iterdir()] == ["model"]
    assert [path.name for path in (tmp_path / "synced" / "out").iterdir()] == ["model"]
    assert [each["name"] for each in named] == ["previous/job-1/model", "start/job-1.json"]


def test_removing_an_output_leaves_the_copies(danlu, used):
    danlu("store", "rm", "-r", used)

    assert danlu("restore", used, "job-1").out.split() == ["model"]
