import os
import string
import subprocess
import sys

import pytest

from danlu import messages
from danlu.errors import NotFound, Refused
from danlu.job.state import JobState, Reason


@pytest.fixture(autouse=True)
def _english():
    yield
    messages.use("en")


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_both_languages_have_the_same_keys():
    assert set(messages.catalogue("en")) == set(messages.catalogue("zh"))


def test_both_languages_have_the_same_placeholders():
    english, chinese = messages.catalogue("en"), messages.catalogue("zh")

    different = [key for key in english if placeholders(english[key]) != placeholders(chinese[key])]

    assert different == []


def test_no_sentence_is_empty_or_padded():
    for lang in messages.LANGUAGES:
        bad = [
            key
            for key, text in messages.catalogue(lang).items()
            if not text or text != text.strip()
        ]
        assert bad == []


def test_every_state_and_reason_has_a_word():
    missing = [f"state.{state.value}" for state in JobState] + [
        f"reason.{reason.value}" for reason in Reason
    ]

    assert [key for key in missing if not messages.has_message(key)] == []


def test_states_are_called_what_modelarts_calls_them():
    messages.use("zh")

    message = [messages.get_message(f"state.{state.value}") for state in JobState]

    assert message == ["排队中", "启动中", "运行中", "停止中", "成功", "失败", "已停止"]


def test_an_unknown_language_is_english():
    messages.use("fr")

    assert messages.language() == "en"


@pytest.mark.parametrize(
    ("env", "lang"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "zh_CN.UTF-8", "LANG": "en_US.UTF-8"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_locale_decides(env, lang):
    assert messages.of_locale(env) == lang


@pytest.mark.parametrize(
    ("header", "lang"),
    [("", ""), ("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("de, EN-us;q=0.5", "en"), ("de, fr", "")],
)
def test_accepted_language_is_the_first_known(header, lang):
    assert messages.accepted_language(header) == lang


def test_empty_choice_reads_variable_before_locale(monkeypatch):
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    monkeypatch.setenv("DANLU_LANG", "zh")

    messages.use("")

    assert messages.language() == "zh"


def test_error_from_key_has_message_and_hint():
    error = Refused.from_key("bundle.link_to_directory", path="a")

    assert error.message == "'a' is a link to a directory."
    assert error.hint == messages.get_message("bundle.link_to_directory.hint")


def test_error_from_key_has_language_of_process():
    messages.use("zh")

    error = NotFound("job", "mnst", known=["mnist"])

    assert error.message == "没有名为 'mnst' 的作业。"
    assert error.hint == "是否想写 'mnist'？"


def test_given_hint_replaces_that_of_the_catalogue():
    assert Refused.from_key("bundle.link_to_directory", path="a", hint="b").hint == "b"


def test_catalogue_loads_beside_json_module_of_script(tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    code = "from danlu.messages import get_message; print(get_message('down.done'))"

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "DANLU_LANG": "zh", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    assert done.stdout == "服务端已停止。\n"
