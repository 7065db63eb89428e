"""No path, name or key in a request leads out of its folder."""

import asyncio
import copy
import json
import os
import random
from collections import Counter

import pytest
from canary_files import CANARY
from hostile import Hostile
from raw_requests import VISIBLE, as_json, escaped, send
from route_list import routes_of
from sample_requests import CODE, REQUESTS, bodies, request_of

from danlu.service.jobs.secrets import SecretFiles

JSON = (("content-type", "application/json"),)
SAMPLE = {
    "ref": "a-job",
    "task": "worker-0",
    "sha256": "a" * 64,
    "algorithm": "algo",
    "dataset": "data",
}


@pytest.fixture
def filled(app, platform, put, treasure):
    """The application with something to find: code, data, a job, an algorithm, a data set."""
    for name, data in CODE.items():
        put(f"obs://bucket/code/{name}", data)
    put("obs://bucket/data/a.csv")
    for made in bodies()["POST /v1/algorithms"]:
        platform.service.definitions.create_algorithm(made["name"], made["definition"])
    for made in bodies()["POST /v1/datasets"]:
        platform.service.definitions.create_dataset(made["name"], made["definition"])
    outputs = {"train_url": "obs://bucket/out-of-another"}
    platform.service.submit({**request_of("modelarts"), "name": "a-job", "outputs": outputs})
    treasure.look()
    return app


def test_every_route_is_known_here(app):
    routes = routes_of(app)

    assert {name for route in routes for name in route.in_path} == set(SAMPLE)
    assert {str(route) for route in routes if route.has_body} == set(bodies())
    assert len(routes) >= 26


@pytest.mark.parametrize("dialect", REQUESTS)
def test_the_whole_requests_are_accepted(filled, dialect):
    body = as_json({"request": request_of(dialect)})

    status, answer = asyncio.run(send(filled, "POST", "/v1/plan", headers=JSON, body=body))

    assert status == 200, answer


@pytest.mark.parametrize("count", [120, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.timeout(3600)
def test_names_in_path_or_query_cannot_escape(filled, treasure, tmp_path, count):
    hostile = Hostile(count, tmp_path)
    routes = [route for route in routes_of(filled) if route.in_path or route.in_query]
    answered = Counter()

    async def scene():
        for route in routes:
            for _ in range(count):
                path, query = _aimed(route, hostile)
                headers = [*JSON, ("client-token", "token")] if route.in_headers else JSON
                answer = await send(filled, route.method, path, query=query, headers=headers)
                _judge(*answer, path)
                answered[answer[0]] += 1

    asyncio.run(scene())
    assert answered[200]
    assert answered[404]
    assert treasure.changes() == []


@pytest.mark.parametrize("count", [120, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.timeout(3600)
def test_no_text_in_a_body_leads_anywhere_else(
    filled, platform, settings, treasure, tmp_path, count
):
    hostile = Hostile(count + 1, tmp_path)
    answered = Counter()

    async def scene():
        for route, wholes in bodies().items():
            method, path = route.split(" ")
            for _ in range(count if path != "/v1/code/{sha256}" else 0):
                body = spoiled(hostile.chance.choice(wholes), hostile)
                where = _harmless(path, body).format(**SAMPLE)
                answer = await send(filled, method, where, headers=JSON, body=as_json(body))
                _judge(*answer, body)
                _judge_plan(*answer, body)
                answered[answer[0]] += 1
                _forget(platform, settings, answer)

    asyncio.run(scene())
    assert answered[200]  # plans that were judged
    assert answered[201]
    assert answered[422]
    assert treasure.changes() == []


def _aimed(route, hostile):
    """Return a path and a query with one of their values meant to do harm."""
    target = hostile.chance.choice([*route.in_path, *route.in_query])
    text = hostile.text()
    # As it is, a value may hold slashes and change which route is meant: that must do no harm.
    spelled = escaped(text, safe="" if hostile.chance.random() < 0.7 else VISIBLE)
    values = {**SAMPLE, target: spelled}
    query = f"{target}={escaped(text)}" if target in route.in_query else ""
    return route.path.format(**values), query


def _harmless(path, body):
    """A folder of this machine is written where it is named, which is no escape: only plan it."""
    if "file:" in json.dumps(body).lower() and "plan" not in path:
        body.pop("secrets", None)
        return "/v1/plan"
    return path


def _judge(status, answer, sent):
    assert CANARY.encode() not in answer, sent
    assert status < 500 or status == 503, (status, sent)


def _judge_plan(status, answer, sent):
    """Of what is accepted, every word can be started and every folder is of its own service."""
    planned = json.loads(answer).get("tasks") if status == 200 else None
    for task in planned or ():
        command = task["command"]
        words = [command["run"], command["cwd"], *command["args"], *command["env"].values()]
        places = [item["to"] for item in command["fetch"]]
        places += [item["path"] for item in command["push"]]
        places += [*command["folders"], *command["files"], *command["sys_path"]]
        assert not [text for text in (*words, *places) if "\0" in text], sent
        assert [os.path.normpath(place) for place in places] == places, sent
        names = [step.encode("utf-8", "surrogateescape") for p in places for step in p.split("/")]
        assert max(map(len, names)) <= 255, sent


def _forget(platform, settings, answer):
    """Take back what was accepted, so that the next one meets the same platform."""
    status, body = answer
    if status == 201 and "spec" in (made := json.loads(body)):
        SecretFiles(settings.home / "secrets").drop(made["id"])
        platform.records.remove(made["id"])


def spoiled(whole, hostile):
    """Return a body with one value, or one name of a value, meant to do harm."""
    body = copy.deepcopy(whole)
    chance: random.Random = hostile.chance
    places = list(_places(body))
    holder, key = chance.choice(places)
    if isinstance(holder, dict) and chance.random() < 0.15:
        holder[hostile.text()] = holder.pop(key)
    else:
        holder[key] = hostile.value()
    return body


def _places(value):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


@pytest.mark.parametrize(
    ("dialect", "field", "value", "reported"),
    [
        ("modelarts", "working_dir", "a\0b", "working_dir: contains a NUL"),
        ("modelarts", "code_origin", "obs://bucket/a\0", "code_origin: contains a NUL"),
        ("modelarts", "boot_file", "../code/train.py", "inside the code directory"),
        ("modelarts", "boot_file", "/etc/train.py", "inside the code directory"),
        ("modelarts", "memory", 10**400, "memory: must be a size"),
        ("modelarts", "env", {"WORD": "x" * 200_000}, "env.WORD: the variable has 200,005 bytes"),
        ("kdl", "prepare_command", "x" * 200_000, "prepare_command: has 200,000 bytes"),
        ("kdl", "prepare_command", "a\0b", "prepare_command: contains a NUL"),
        ("ti", "framework", "\0", "framework: contains a NUL"),
        ("ti", "hyperparameters", {"a": ["x" * 140_000]}, "Linux accepts 131,071"),
    ],
    ids=str,
)
def test_impossible_arguments_are_reported_at_submit(filled, dialect, field, value, reported):
    body = as_json({"request": {**request_of(dialect), field: value}})

    status, answer = asyncio.run(send(filled, "POST", "/v1/plan", headers=JSON, body=body))

    assert status == 422, answer
    assert reported in answer.decode()


@pytest.mark.parametrize(
    "origin", ["obs://bucket/..", "file:///a/%2e%2e", f"obs://bucket/{'x' * 300}"]
)
def test_unnamed_code_directory_is_called_code(filled, origin):
    body = as_json({"request": {**request_of("modelarts"), "code_origin": origin}})

    status, answer = asyncio.run(send(filled, "POST", "/v1/plan", headers=JSON, body=body))

    assert status == 200, answer
    code = json.loads(answer)["tasks"][0]["command"]["fetch"][0]["to"]
    assert code == "/home/ma-user/modelarts/user-job-dir/code"
