"""danlu algorithm, danlu dataset, and jobs made from them."""

import pytest

from danlu.job.definitions import Algorithm, Contents, Dataset

ALGORITHM = """
description = "digits"
parameters_customization = false

[[inputs]]
name = "data_url"
description = "the pictures"

[[parameters]]
name = "lr"
constraint = { type = "Float", default = 1e-3, valid_type = "range", valid_range = [0, 1.5] }

[[parameters]]
name = "seed"
constraint = { type = "Integer", default = 7, editable = false, required = true }
"""


@pytest.fixture
def declared(script, tmp_path):
    (tmp_path / "algorithm.toml").write_text(ALGORITHM)
    return ("algorithm", "create", "mnist", "code", "--file", "algorithm.toml")


def test_algorithm_is_made_from_folder_and_file(danlu, client, declared, script):
    made = danlu(*declared)

    assert (made.code, made.out) == (0, "mnist:1\n")
    assert "danlu run --algorithm mnist" in made.err
    (view,) = client.algorithms.made["mnist"]
    assert view["boot_file"] == "train.py"
    assert view["code_origin"] == script.as_uri()
    assert view["parameters"][0]["constraint"]["default"] == "1e-3"
    assert len(client.archives) == 1


def test_flags_win_over_the_file(danlu, client, declared, script):
    (script / "other.py").write_text("")

    danlu(*declared, "--boot-file", "other.py", "--description", "better")

    (view,) = client.algorithms.made["mnist"]
    assert (view["boot_file"], view["description"]) == ("other.py", "better")


def test_code_in_store_is_named_by_its_uri(danlu, client):
    danlu("algorithm", "create", "mnist", "obs://bucket/code", "--boot-file", "train.py")

    (view,) = client.algorithms.made["mnist"]
    assert (view["code"], view["code_origin"]) == ("obs://bucket/code", "")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a = ", "algorithm.toml is not TOML"),
        ("code = 'x'", "the code is the argument PATH"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_reported(danlu, declared, tmp_path, text, sentence):
    file = tmp_path / "algorithm.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())

    reported = danlu(*declared)

    assert reported.code == 2
    assert sentence in reported.err


def test_a_file_that_is_not_there_is_reported(danlu, script):
    assert danlu("algorithm", "create", "mnist", "code", "--file", "none.toml").code == 2


def test_an_algorithm_is_shown_with_its_constraints(danlu, declared):
    danlu(*declared)

    lines = danlu("algorithm", "show", "mnist:1").out.splitlines()

    rows = [line.split() for line in lines]
    assert ["data_url", "required", "the", "pictures"] in rows
    assert ["lr", "Float", "=", "1e-3", "0", "…", "1.5"] in rows
    assert ["seed", "Integer", "=", "7", "required", "fixed"] in rows
    assert "A job may add no parameters of its own." in lines


def test_algorithms_are_listed_and_removed(danlu, declared):
    assert "no algorithms yet" in danlu("algorithm", "ls").err
    danlu(*declared)
    danlu(*declared)

    assert danlu("algorithm", "ls").out.splitlines()[1].split() == [
        "mnist", "2", "train.py", "digits",
    ]  # fmt: skip
    assert danlu("algorithm", "ls", "-q").out == "mnist\n"
    assert danlu("algorithm", "ls", "--json").json["algorithms"][0]["version"] == 2
    assert danlu("algorithm", "show", "mnist", "--json").json["versions"] == [2, 1]
    assert "Removed: mnist" in danlu("algorithm", "rm", "mnist").err
    assert danlu("algorithm", "rm", "mnist", "--json").json["error"]["code"] == "not_found"


def test_data_set_is_named_shown_listed_and_removed(danlu, client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert danlu("dataset", "create", "digits", "data 集").out == "digits:1\n"
    made = danlu("dataset", "create", "digits", "obs://bucket/d", "--description", "x", "--json")

    assert client.datasets.made["digits"][0]["uri"] == (tmp_path / "data 集").as_uri()
    assert made.json["version"] == 2
    assert danlu("dataset", "ls").out.splitlines()[1].split() == [
        "digits", "2", "2", "1.5", "kB", "obs://bucket/d",
    ]  # fmt: skip
    assert danlu("dataset", "ls", "-q").out == "digits\n"
    assert danlu("dataset", "ls", "--json").json["datasets"][0]["description"] == "x"
    assert "changed" not in danlu("dataset", "show", "digits").out
    assert danlu("dataset", "show", "digits:1", "--json").json["version"] == 1
    assert danlu("dataset", "rm", "digits", "--json").json == {"removed": "digits"}
    assert "no data sets yet" in danlu("dataset", "ls").err


def test_data_set_that_has_changed_is_shown_so(danlu, client):
    danlu("dataset", "create", "digits", "obs://bucket/d")
    client.datasets.made["digits"][0]["now"] = {"files": 9, "size": 3, "digest": "other"}

    assert "changed since: 9 files, 3 B" in danlu("dataset", "show", "digits").out


def test_local_data_set_is_nothing_to_server_elsewhere(danlu):
    reported = danlu("dataset", "create", "digits", "data", "--server", "http://elsewhere:1")

    assert reported.code == 2
    assert "cannot see it" in reported.err


def test_run_makes_a_job_from_an_algorithm(danlu, client):
    done = danlu("run", "--algorithm", "mnist:2", "--data-url", "dataset://digits", "-p", "lr=1")

    assert done.code == 0
    assert client.requests == [
        {"algorithm": "mnist:2", "data_url": "dataset://digits", "parameters": {"lr": "1"}}
    ]
    assert client.archives == []


def test_fields_of_algorithm_are_checked_by_server(danlu, client):
    danlu("run", "--algorithm", "mnist", "--boot-file", "x.py", "--dialect", "dls", "-d")

    assert client.requests == [{"algorithm": "mnist", "boot_file": "x.py", "dialect": "dls"}]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["code", "--algorithm", "mnist"], "Both PATH 'code' and --algorithm"),
        ([], "There is nothing to run."),
    ],
)
def test_run_takes_a_path_or_an_algorithm(danlu, client, script, words, sentence):
    reported = danlu("run", *words)

    assert reported.code == 2
    assert sentence in reported.err
    assert client.requests == []


def test_a_job_file_may_name_an_algorithm(danlu, client, tmp_path):
    file = tmp_path / "job.toml"
    file.write_text('algorithm = "mnist"\nboot_file = "x.py"\n[parameters]\nlr = 1e-3\n')

    assert danlu("submit", str(file)).code == 0

    assert client.requests == [
        {"algorithm": "mnist", "boot_file": "x.py", "parameters": {"lr": "1e-3"}}
    ]


def test_show_names_what_a_job_was_made_from(danlu, client, monkeypatch):
    danlu("run", "--algorithm", "mnist", "--name", "first", "-d")
    dataset = Dataset("digits", 3, 1.0, "obs://b/d", Contents(1, 1, "d"))
    used = {
        "algorithm": Algorithm("mnist", 2, 1.0, "obs://b/c", "train.py"),
        "datasets": {"dataset://digits": dataset},
    }
    for name, value in used.items():
        object.__setattr__(client._get("first"), name, value)

    rows = [line.split() for line in danlu("show", "first").out.splitlines()]

    assert ["algorithm", "mnist:2"] in rows
    assert ["dataset://digits", "digits:3"] in rows
