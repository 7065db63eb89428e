"""Requests are signed as the services expect it: by their own published examples."""

import calendar
from collections.abc import Mapping

import pytest

from danlu.settings import Endpoint, Secret
from danlu.storage.s3.http import Signer, encoded

# The examples in Amazon's reference: "Signature Calculations for the Authorization Header".
HOST = "examplebucket.s3.amazonaws.com"
MIDNIGHT = calendar.timegm((2013, 5, 24, 0, 0, 0))


def signer(**more: str) -> Signer:
    keys = Secret("AKIAIOSFODNN7EXAMPLE"), Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    tokens = {name: Secret(value) for name, value in more.items()}
    endpoint = Endpoint(
        "https://s3.amazonaws.com", access_key=keys[0], secret_key=keys[1], **tokens
    )
    return Signer(endpoint, clock=lambda: MIDNIGHT)


def signature(headers: Mapping[str, str]) -> str:
    return headers["authorization"].rpartition("Signature=")[2]


@pytest.mark.parametrize(
    ("method", "path", "query", "headers", "body", "expected"),
    [
        (
            "GET", "/test.txt", {}, {"Range": "bytes=0-9"}, b"",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT", "/test%24file.text", {},
            {"Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
            b"Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        (
            "GET", "/", {"lifecycle": ""}, {}, b"",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            "GET", "/", {"max-keys": "2", "prefix": "J"}, {}, b"",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ],
)  # fmt: skip
def test_the_published_examples_come_out_as_published(
    method: str,
    path: str,
    query: dict[str, str],
    headers: dict[str, str],
    body: bytes,
    expected: str,
) -> None:
    signed = signer().sign(method, HOST, path, encoded(query), headers, body)

    assert signature(signed) == expected


def test_a_token_is_sent_and_signed() -> None:
    signed = signer(token="temporary").sign("GET", HOST, "/a", "", {}, b"")

    assert signed["x-amz-security-token"] == "temporary"
    assert "x-amz-security-token" in signed["authorization"]
    assert signature(signed) != signature(signer().sign("GET", HOST, "/a", "", {}, b""))


def test_query_is_sorted_and_encoded() -> None:
    assert encoded({"prefix": "a b/+%~丹", "delimiter": "/"}) == (
        "delimiter=%2F&prefix=a%20b%2F%2B%25~%E4%B8%B9"
    )
