import pytest


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data 集"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("aa")
    (folder / "deep" / "b'c.txt").write_text("bbb")
    (folder / "empty").mkdir()
    return folder


def test_a_tree_goes_into_a_bucket_and_comes_back_whole(danlu, tree, tmp_path):
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


def test_a_tree_is_removed_only_when_that_is_meant(danlu, tree):
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
        Objects(load())._check_not_everything(place)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("cat", "obs://bucket/none"), 3, "There is no object named 'obs://bucket/none'."),
        (("cat", "data 集"), 3, "It is a tree"),
        (("ls", "gopher://x/y"), 3, "There is no scheme named 'gopher'."),
        (("rm", "nothing"), 3, "There is no object"),
        (("cp", "data 集", "data 集/a.txt"), 2, "is a file"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(danlu, tree, args, code, said):
    result = danlu("store", *args)

    assert result.code == code
    assert said in result.err


def test_a_bucket_of_a_server_elsewhere_is_not_looked_for_here(danlu, tree):
    result = danlu("store", "ls", "obs://bucket", "--server", "http://other:9420")

    assert result.code == 1
    assert "belongs to the server http://other:9420" in result.err
