import io
import json
import logging
import random
import shlex
import urllib.parse

import pytest

from danlu.agent import __main__
from danlu.agent.reports import log_capture
from danlu.agent.reports.log_capture import Redactor, clean_logging
from danlu.agent.script import environment
from danlu.settings import Endpoint, Secret, Settings
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles
from danlu.taskdir.processes import this_agent


def test_what_is_no_secret_passes_at_once():
    redactor = Redactor(["s3cr3t-key"])

    assert redactor.feed(b"hello\n") == b"hello\n"


def test_short_values_are_words_and_stay():
    assert Redactor(["1", "true"]).feed(b"1 is true") == b"1 is true"


def test_a_secret_inside_a_longer_one():
    assert Redactor(["abcdef", "abcdef-ghi"]).text("x abcdef-ghi y abcdef z") == "x *** y *** z"


@pytest.mark.parametrize("seed", range(20))
def test_pieces_of_any_size_give_the_same_text(seed):
    chance = random.Random(seed)
    text = b"".join(chance.choice([b"aab", b"aabaab", b"aabaabc!", b"\n"]) for _ in range(200))
    redactor = Redactor(["aabaabc!"])
    pieces, left = [], text
    while left:
        size = chance.randint(1, 9)
        pieces.append(redactor.feed(left[:size]))
        left = left[size:]

    shown = b"".join(pieces) + redactor.rest()

    assert shown == text.replace(b"aabaabc!", b"***")


@pytest.mark.parametrize(
    ("secret", "reported"),
    [
        ('it\'s "my" key', repr('it\'s "my" key')),
        ('it\'s "my" key', repr({"key": 'it\'s "my" key'})),
        ("a\\b\tc-key", json.dumps({"key": "a\\b\tc-key"})),
        ("口令-密码-口令", json.dumps("口令-密码-口令")),
        ("a/b+c=d&e", "https://host/?key=a%2Fb%2Bc%3Dd%26e"),
        ("two words!", "key=two+words%21"),
        ("first line\nsecond line", "1: first line\n2: second line"),
        ("口令-my-口令", ascii({"key": "口令-my-口令"})),
        ("口令-my-口令", repr("口令-my-口令".encode())),
        ("口令-my-口令", urllib.parse.quote("口令-my-口令").lower()),
        ("a/my/key+b", r'{"key": "a\/my\/key+b"}'),
        ("it's my key", shlex.join(["--key", "it's my key"])),
        ("it's my key", r"KEY='it'\''s my key'"),
    ],
)
def test_a_secret_is_known_as_programs_write_it(secret, reported):
    shown = Redactor([secret]).text(reported)

    assert "***" in shown
    assert not any(word in shown for word in ("my", "c-key", "4ee4", "b%2B", "words", "line"))


def test_our_own_log_is_clean_too(caplog, monkeypatch):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    clean_logging(Redactor(["s3cr3t-key"]))

    try:
        raise ValueError("no access with s3cr3t-key")
    except ValueError:
        logging.getLogger("danlu").exception("push failed key=%s", "s3cr3t-key")

    assert "push failed key=***" in stream.getvalue()
    assert "s3cr3t-key" not in stream.getvalue()


def test_passwords_in_urls_of_variables_are_hidden_too(tmp_path):
    own = {
        "HTTPS_PROXY": "http://me:word-of%20proxy@proxy:3128",
        "UV_INDEX": "https://a:word-of-one@one/simple https://b:word-of-two@two/simple",
        "PATH": "/usr/bin:/bin",
        "NO_PROXY": "a@b:c",
    }

    hidden = set(environment.store_secrets(Settings(home=tmp_path), own))

    assert hidden == {"word-of%20proxy", "word-of proxy", "word-of-one", "word-of-two"}


@pytest.mark.parametrize("prepared", [True, False], ids=["while it lived", "before it had begun"])
def test_fault_of_agent_itself_is_reported_without_secrets(tmp_path, monkeypatch, prepared):
    stream = io.StringIO()
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.StreamHandler(stream)])
    monkeypatch.setattr(log_capture, "_own", [])
    files = TaskDir(LocalJobFiles(tmp_path / "jobs" / "j"), 1, "worker-0")
    files.claim(this_agent())
    store = Endpoint("http://127.0.0.1:9", secret_key=Secret("key-of-the-store"))
    settings = Settings(home=tmp_path, stores={"s3": store})

    def fails(*given):
        if prepared:
            clean_logging(Redactor(["s3cr3t-key", "key-of-the-store"]))
            raise ValueError("no access with s3cr3t-key and key-of-the-store")
        raise ValueError("no access with key-of-the-store")

    monkeypatch.setattr(__main__, "run_task", fails)

    assert __main__.run_agent(files, settings) == 1

    for text in (files.outcome().failure.traceback, stream.getvalue()):
        assert "ValueError: no access with ***" in text
        assert "s3cr3t-key" not in text
        assert "key-of-the-store" not in text
