import string

import pytest

from danlu import words
from danlu.job.state import JobState, Reason


@pytest.fixture(autouse=True)
def _english():
    yield
    words.use("en")


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_both_languages_have_the_same_keys():
    assert set(words.catalogue("en")) == set(words.catalogue("zh"))


def test_both_languages_have_the_same_placeholders():
    english, chinese = words.catalogue("en"), words.catalogue("zh")

    different = [key for key in english if placeholders(english[key]) != placeholders(chinese[key])]

    assert different == []


def test_no_sentence_is_empty_or_padded():
    for lang in words.LANGUAGES:
        bad = [
            key for key, text in words.catalogue(lang).items() if not text or text != text.strip()
        ]
        assert bad == []


def test_every_state_and_reason_has_a_word():
    missing = [f"state.{state.value}" for state in JobState] + [
        f"reason.{reason.value}" for reason in Reason
    ]

    assert [key for key in missing if not words.knows(key)] == []


def test_states_are_called_what_modelarts_calls_them():
    words.use("zh")

    said = [words.say(f"state.{state.value}") for state in JobState]

    assert said == ["排队中", "启动中", "运行中", "停止中", "成功", "失败", "已停止"]


def test_an_unknown_language_is_english():
    words.use("fr")

    assert words.language() == "en"


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
    assert words.of_locale(env) == lang
