"""Every route of the application, taken from the application: a new one is covered by itself."""

import pytest
from asking import Asker

from danlu.server.guard import Auth, host_name, is_ours
from danlu.settings import Secret

TOKEN = {"Authorization": "Bearer a-token-for-tests"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SAMPLE = {
    "ref": "some-job",
    "task": "worker-0",
    "sha256": "a" * 64,
    "algorithm": "mnist",
    "dataset": "digits",
}
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]


def every_path(app):
    paths = {*app.openapi()["paths"], app.openapi_url, "/", "/docs", "/nowhere"}
    return sorted(path.format(**SAMPLE) for path in paths)


def every_route(app):
    return [(method, path) for path in every_path(app) for method in METHODS]


@pytest.fixture
def tcp(app):
    return Asker(app, local=False)


@pytest.fixture
def local(app):
    return Asker(app, local=True)


def test_the_matrix_sees_the_routes(app):
    assert ("DELETE", "/v1/jobs/some-job") in every_route(app)
    assert len(every_path(app)) >= 15


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Basic a-token-for-tests"}, 401),
        ({"Authorization": "Bearer a-token-for-tests2"}, 401),
        ({**TOKEN, "Host": "evil.example"}, 403),
        ({**TOKEN, "Host": "127.0.0.1.evil.example:9420"}, 403),
        ({**TOKEN, "Host": ""}, 403),
        ({**TOKEN, "Origin": "http://evil.example"}, 403),
        ({**TOKEN, "Origin": "null"}, 403),
        ({**TOKEN, "Origin": "http://127.0.0.1:9421"}, 403),
        (FORM, 401),
    ],
    ids=str,
)
def test_no_route_answers_a_stranger(app, tcp, platform, headers, status):
    platform.service.submit({"dialect": "fake", "name": "some-job"})
    refused = {}
    for method, path in every_route(app):
        if (method, path) == ("GET", "/v1/hello") and "Authorization" not in headers:
            continue
        refused[method, path] = tcp(method, path, headers=headers, content=b"a=b").status_code

    assert set(refused.values()) == {status}
    assert platform.service.get("some-job").state.value == "running"


def test_hello_tells_a_stranger_no_more_than_that_it_is_there(tcp):
    answer = tcp("GET", "/v1/hello")

    assert answer.json() == {"api": 1}


def test_hello_with_a_wrong_token_says_so(tcp):
    assert tcp("GET", "/v1/hello", headers={"Authorization": "Bearer x"}).status_code == 401


def test_the_token_opens_every_route(app, tcp):
    statuses = {tcp(method, path, headers=TOKEN).status_code for method, path in every_route(app)}

    assert not statuses & {401, 403}


def test_a_page_of_our_own_may_call(tcp):
    own = {**TOKEN, "Origin": "http://127.0.0.1:9420"}

    assert tcp("GET", "/v1/jobs", headers=own).status_code == 200


def test_the_socket_file_needs_no_token(local):
    assert local("GET", "/v1/jobs").status_code == 200


def test_a_form_that_a_page_can_send_is_refused_even_with_the_token(tcp):
    answer = tcp("POST", "/v1/plan", headers={**TOKEN, **FORM}, content=b"request=x")

    assert answer.status_code == 415


def test_every_answer_is_kept_from_being_a_page(app, local):
    for method, path in every_route(app):
        headers = local(method, path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].startswith("default-src 'none'")


def test_an_empty_token_lets_nobody_in():
    assert not Auth(token=Secret("")).accepts("Bearer ")


@pytest.mark.parametrize(
    ("host", "arrived_at", "ours"),
    [
        ("localhost:9420", "127.0.0.1", True),
        ("LOCALHOST.", "127.0.0.1", True),
        ("[::1]:9420", "::1", True),
        ("192.168.1.5:9420", "192.168.1.5", True),
        ("192.168.1.6:9420", "192.168.1.5", False),
        ("box.local", "192.168.1.5", False),
        ("localhost.evil.example", "127.0.0.1", False),
        ("evil.example:localhost", "127.0.0.1", False),
        ("user@localhost", "127.0.0.1", False),
    ],
)
def test_a_host_is_ours_by_name_or_by_the_address_it_came_to(host, arrived_at, ours):
    assert is_ours(host, Auth().hosts, arrived_at) is ours


def test_a_host_is_taken_without_its_port():
    assert [host_name(text) for text in ("A:1", "[::1]:2", "a.")] == ["a", "::1", "a"]
