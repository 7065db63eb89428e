"""danlu check: the report of the runtime, shown with the service and the TensorFlow of a job."""

import json

import pytest

from danlu.cli.commands import check

CLEAN = {"repaired": [], "mapped": [], "gone": [], "missing": [], "errors": [], "tensorflow": ""}
PROGRAM = """
import json, os, sys
asked = {"words": sys.argv[1:], "sees": os.environ["DANLU_TENSORFLOW"]}
asked["code"] = os.environ["DANLU_CODE"]
open(os.path.join(os.path.dirname(__file__), "asked.json"), "w").write(json.dumps(asked))
print("a line of noise")
print(ANSWER)
"""


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    """A runtime that prints what a test defines, and records its arguments."""
    folder = tmp_path / "src" / "danlu_runtime"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    monkeypatch.setattr(check, "_SOURCE", folder.parent)

    def prints(answer=None, **found):
        text = json.dumps({**CLEAN, **found}) if answer is None else answer
        (folder / "check.py").write_text(PROGRAM.replace("ANSWER", repr(text)))

    prints.asked = lambda: json.loads((folder / "asked.json").read_text())
    prints()
    return prints


@pytest.fixture
def old(script):
    (script / "train.py").write_text("import tensorflow as tf\ntf.Session()\n")
    return script


def test_code_without_problems_is_reported_to_run(danlu, runtime, old):
    result = danlu("check", "code")

    assert result.code == 0
    assert result.out == (
        "service     modelarts  (train.py shows no sign of another service)\n"
        "TensorFlow  1.15.5  (train.py:2 uses tf.Session)\n"
        "\n"
        "Nothing in it is known to fail here.\n"
    )
    assert runtime.asked() == {
        "words": [str(old), "--json"],
        "sees": "1.15.5",
        "code": str(old),
    }


def test_what_is_repaired_is_listed_and_no_failure(danlu, runtime, old):
    runtime(
        repaired=[{"file": "train.py", "line": 3, "text": "print statements"}],
        mapped=[{"file": "train.py", "line": 4, "text": "tf.contrib.slim is tf_slim"}],
    )

    result = danlu("check", "code/train.py")

    assert result.code == 0
    assert "Repaired\n  train.py:3  print statements\n" in result.out
    assert "Mapped\n  train.py:4  tf.contrib.slim is tf_slim\n" in result.out


@pytest.mark.parametrize(
    ("kind", "title"),
    [("gone", "Gone"), ("missing", "Not installed"), ("errors", "Cannot be read")],
)
def test_what_would_fail_is_an_exit_code(danlu, runtime, old, kind, title):
    runtime(**{kind: [{"file": "train.py", "line": 9, "text": "tf.contrib.nccl"}]})

    result = danlu("check", "code")

    assert result.code == 1
    assert f"{title}\n  train.py:9  tf.contrib.nccl\n" in result.out
    assert result.out.endswith("Something in it will fail here.\n")


def test_json_has_the_choices_and_their_reasons(danlu, runtime, old):
    runtime(gone=[{"file": "a.py", "line": 1, "text": "x"}])

    result = danlu("check", "code", "--json")

    assert result.code == 1
    assert result.json == {
        "path": "code",
        "dialect": "modelarts",
        "dialect_why": "train.py shows no sign of another service",
        "tensorflow": "1.15.5",
        "tensorflow_why": "train.py:2 uses tf.Session",
        **{name: [] for name in ("errors", "missing", "repaired", "mapped")},
        "gone": [{"file": "a.py", "line": 1, "text": "x"}],
        "fails": True,
    }


def test_service_may_decide_and_person_before_it(danlu, runtime, old):
    (old / "train.py").write_text("import tensorflow as tf\ntf.function\n")

    assert danlu("check", "code", "--json").json["tensorflow"] == "2.15.0"
    by_service = danlu("check", "code", "--dialect", "dls", "--json").json
    assert by_service["tensorflow"] == "1.15.5"
    assert by_service["tensorflow_why"] == "every job of dls has TensorFlow 1"
    asked = danlu("check", "code", "--dialect", "dls", "--framework-version", "2.16", "--json")
    assert (asked.json["tensorflow"], runtime.asked()["sees"]) == ("2.16.0", "2.16.0")


def test_code_of_two_services_is_still_checked(danlu, runtime, old):
    (old / "train.py").write_text("import moxing as mox\nmox.run()\nos.environ['TM_MODEL_DIR']\n")

    result = danlu("check", "code", "--json")

    assert result.code == 0
    assert result.json["dialect"] == ""
    assert "dls" in result.json["dialect_why"]
    assert "ti" in result.json["dialect_why"]


def test_code_without_tensorflow_is_looked_at_too(danlu, runtime, script):
    result = danlu("check", "code")

    assert "TensorFlow  -  (no file imports it)" in result.out


def test_missing_runtime_is_reported(danlu, runtime, old, monkeypatch):
    monkeypatch.setattr(check, "find_spec", lambda name: None)

    result = danlu("check", "code")

    assert result.code == 2
    assert "needs the TensorFlow runtime" in result.err
    assert "pip install 'danlu[tf]'" in result.err


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("nothing", "There is no file or directory 'nothing'."),
        ("obs://bucket/code", "only files on this machine can be checked"),
    ],
)
def test_what_cannot_be_looked_at_is_reported(danlu, runtime, old, path, text):
    result = danlu("check", path)

    assert result.code == 2
    assert text in result.err


def test_runtime_without_output_is_an_internal_error(danlu, runtime, old):
    runtime("Segmentation fault")

    result = danlu("check", "code")

    assert result.code == 1
    assert "The runtime could not check code: status 0" in result.err
