"""The server answers each request in the language that the request accepts."""

import pytest

from danlu import messages


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({}, "There is no job named 'nosuch'."),
        ({"Accept-Language": "zh"}, "没有名为 'nosuch' 的作业。"),
        ({"Accept-Language": "fr, zh-CN;q=0.8, en;q=0.5"}, "没有名为 'nosuch' 的作业。"),
        ({"Accept-Language": "fr"}, "There is no job named 'nosuch'."),
    ],
)
def test_error_has_the_language_of_the_request(ask, header, message):
    answer = ask("GET", "/v1/jobs/nosuch", headers=header)

    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == message


def test_language_of_a_request_ends_with_it(ask):
    ask("GET", "/v1/jobs/nosuch", headers={"Accept-Language": "zh"})

    answer = ask("GET", "/v1/jobs/nosuch")

    assert answer.json()["error"]["message"] == "There is no job named 'nosuch'."
    assert messages.language() == "en"


def test_server_in_chinese_answers_english_clients_in_english(ask):
    messages.use("zh")
    try:
        chinese = ask("GET", "/v1/jobs/nosuch").json()["error"]["message"]
        english = ask("GET", "/v1/jobs/nosuch", headers={"Accept-Language": "en"}).json()
    finally:
        messages.use("en")

    assert chinese == "没有名为 'nosuch' 的作业。"
    assert english["error"]["message"] == "There is no job named 'nosuch'."
