"""Algorithms and data sets over HTTP."""

import pytest

from danlu.storage.locate import Stores

ALGORITHM = {"code": "obs://bucket/code", "boot_file": "train.py"}


@pytest.fixture(autouse=True)
def _store(home, platform):
    stores = Stores(home / "store")
    for uri in ("obs://bucket/code/train.py", "obs://bucket/data/a.csv"):
        location = stores.at(uri)
        location.storage.write(location.key, b"x")


def define(ask, where, name, **definition):
    return ask("POST", f"/v1/{where}", json={"name": name, "definition": definition})


def test_an_algorithm_is_made_shown_listed_and_removed(ask):
    made = define(ask, "algorithms", "mnist", **ALGORITHM)
    define(ask, "algorithms", "mnist", **ALGORITHM, flavor="small")

    assert made.status_code == 201
    assert made.headers["Location"] == "/v1/algorithms/mnist?version=1"
    newest = ask("GET", "/v1/algorithms/mnist").json()
    assert (newest["version"], newest["flavor"], newest["versions"]) == (2, "small", [2, 1])
    assert ask("GET", made.headers["Location"]).json() == {**made.json(), "versions": [2, 1]}
    assert [a["version"] for a in ask("GET", "/v1/algorithms").json()["algorithms"]] == [2]
    assert ask("DELETE", "/v1/algorithms/mnist?version=2").status_code == 204
    assert ask("GET", "/v1/algorithms/mnist").json()["version"] == 1
    assert ask("DELETE", "/v1/algorithms/mnist").status_code == 204
    assert ask("GET", "/v1/algorithms").json() == {"algorithms": []}


def test_repeat_of_newest_version_makes_no_other(ask):
    first = define(ask, "algorithms", "mnist", **ALGORITHM)

    assert define(ask, "algorithms", "mnist", **ALGORITHM).json() == first.json()


def test_every_fault_of_algorithm_is_in_answer(ask):
    answer = define(ask, "algorithms", "a b", code="obs://bucket/code", boot_file="x.py", flavour=1)

    assert answer.status_code == 422
    reported = [fault["field"] for fault in answer.json()["error"]["faults"]]
    assert reported == ["name", "flavour", "boot_file"]


def test_data_set_shows_recorded_and_current_content(ask, home):
    made = define(ask, "datasets", "digits", uri="obs://bucket/data").json()
    location = Stores(home / "store").at("obs://bucket/data/b.csv")
    location.storage.write(location.key, b"yy")

    shown = ask("GET", "/v1/datasets/digits?version=1").json()

    assert made["now"] == made["contents"]
    assert (shown["contents"]["files"], shown["now"]["files"]) == (1, 2)
    assert shown["contents"]["digest"] != shown["now"]["digest"]
    assert ask("GET", "/v1/datasets").json()["datasets"][0]["name"] == "digits"
    assert ask("DELETE", "/v1/datasets/digits").status_code == 204
    assert ask("GET", "/v1/datasets").json() == {"datasets": []}


@pytest.mark.parametrize("where", ["algorithms", "datasets"])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("name", ["nobody", "a.b", "x" * 65, "a:1"])
def test_unknown_name_is_not_found(ask, where, method, name):
    answer = ask(method, f"/v1/{where}/{name}")

    assert answer.status_code == 404
    kind = "algorithm" if where == "algorithms" else "data set"
    assert answer.json()["error"]["message"] == f"There is no {kind} named {name!r}."


@pytest.mark.parametrize("version", ["0", "-1", "x", "9" * 30])
def test_a_version_is_a_number(ask, version):
    assert ask("GET", f"/v1/algorithms/mnist?version={version}").status_code == 400


@pytest.mark.parametrize(
    "body", [{}, {"name": "a"}, {"name": 1, "definition": {}}, {"name": "a", "definition": []}]
)
def test_a_body_of_another_form_is_refused(ask, body):
    assert ask("POST", "/v1/algorithms", json=body).status_code == 400
