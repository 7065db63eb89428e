"""Requested packages are installed with the configuration of the user who runs the server."""

import pytest

from wheels import wheel


@pytest.fixture
def offline(person, tmp_path):
    """The person's own index: a folder of wheels, and no network."""
    index = tmp_path / "index"
    index.mkdir()
    kept = {k: v for k, v in person.env.items() if not k.startswith(("PIP_", "UV_"))}
    person.env = {
        **kept,
        "PIP_FIND_LINKS": str(index),
        "PIP_NO_INDEX": "1",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    return index


def test_a_modelarts_job_finds_its_requirements(person, offline):
    wheel(offline, "easydict", "1.13")
    person.script("easydict==1.7\nclick==7.0\n", "pip-requirements.txt")
    person.script("import easydict\nprint('easydict', easydict.version)\n")

    done = person.types("run", "code", "--dialect", "modelarts", "--boot-file", "train.py")

    assert "easydict 1.13\n" in done.stdout
    log = person.types("logs").stdout
    text = "easydict==1.7 (pip-requirements.txt line 1): cannot be installed here; easydict 1.13"
    assert text in log
    assert "click==7.0 (pip-requirements.txt line 2): the runtime's click" in log


def test_the_hint_for_a_missing_package_works(person, offline):
    wheel(offline, "easydict", "1.13")
    person.script("import easydict\nprint('easydict', easydict.version)\n")
    words = ("run", "code", "--dialect", "modelarts", "--boot-file", "train.py")

    person.types(*words, code=5)
    card = person.asks("show")["cause"]["card"]
    assert card["code"] == "module_package"
    assert "Add a line `easydict` to pip-requirements.txt in the code folder." in card["en"]

    person.script("easydict\n", "pip-requirements.txt")
    assert "easydict 1.13\n" in person.types(*words).stdout


def test_requirement_that_cannot_be_had_is_cause(person, offline):
    person.script("no-such-thing==1.0\n", "pip-requirements.txt")
    person.script("print('ran')\n")

    words = ("run", "code", "--dialect", "modelarts", "--boot-file", "train.py", "--json")
    person.types(*words, code=5)

    job = person.asks("show")
    assert job["attempt"] == 1
    assert job["reason"] == "prepare_failed"
    assert "'no-such-thing==1.0' (pip-requirements.txt line 1)" in job["cause"]["en"]
    assert "ran\n" not in person.types("logs").stdout
