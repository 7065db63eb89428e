"""Whose configuration the installer follows."""

import os

import pytest

from danlu.agent.packages.uv import installer_environment, pip_options


@pytest.fixture
def own(tmp_path):
    home = tmp_path / "person"
    (home / ".config/pip").mkdir(parents=True)
    (home / ".cache").mkdir()
    return {"HOME": str(home), "PATH": "/bin", "XDG_CONFIG_DIRS": str(tmp_path / "none")}


def environment(own, tmp_path):
    return installer_environment(own, tmp_path / "danlu", tmp_path / "scratch")


def test_pip_options_are_translated_for_uv(own, tmp_path):
    (tmp_path / "person/.config/pip/pip.conf").write_text(
        "[global]\nindex-url = https://index.example/simple\ntrusted-host = index.example\n"
        "[install]\nfind-links = /one /two\n"
    )

    env = environment({**own, "PIP_EXTRA_INDEX_URL": "https://more/simple"}, tmp_path)

    assert env["UV_DEFAULT_INDEX"] == "https://index.example/simple"
    assert env["UV_INDEX"] == "https://more/simple"
    assert env["UV_FIND_LINKS"] == "/one,/two"
    assert env["UV_INSECURE_HOST"] == "index.example"


def test_uvs_own_variables_win_over_pips_files(own, tmp_path):
    (tmp_path / "person/.config/pip/pip.conf").write_text("[global]\nindex-url = https://pip\n")

    env = environment({**own, "UV_INDEX_URL": "https://uv"}, tmp_path)

    assert env["UV_INDEX_URL"] == "https://uv"
    assert "UV_DEFAULT_INDEX" not in env


def test_unreadable_pip_file_is_skipped(own, tmp_path):
    (tmp_path / "person/.config/pip/pip.conf").write_text("index-url = without a section\n")

    assert "index-url" not in pip_options(own)


def test_what_is_not_for_the_installer_stays_out(own, tmp_path):
    given = {
        "DANLU_TOKEN": "t",
        "AWS_SECRET_ACCESS_KEY": "k",
        "UV_TARGET": "/x",
        "https_proxy": "p",
    }

    env = environment({**own, **given}, tmp_path)

    assert not {"DANLU_TOKEN", "AWS_SECRET_ACCESS_KEY", "UV_TARGET"} & env.keys()
    assert env["https_proxy"] == "p"
    assert env["UV_LINK_MODE"] == "copy"


@pytest.mark.parametrize("cache", ["danlu/uv", "person/.cache/uv"])
def test_cache_that_task_cannot_see_is_not_used(own, tmp_path, cache):
    env = environment({**own, "UV_CACHE_DIR": str(tmp_path / cache)}, tmp_path)

    hidden = cache.startswith("danlu")
    assert env["UV_CACHE_DIR"] == str(tmp_path / ("scratch" if hidden else cache))


def test_a_home_without_space_for_a_cache(tmp_path):
    env = environment({"PATH": os.defpath}, tmp_path)

    assert env["UV_CACHE_DIR"] == str(tmp_path / "scratch")
