import shutil

import pytest

from danlu.cli.code import place, read_code
from danlu.errors import Refused
from danlu.usercode.code_snapshot import CodeSnapshot
from danlu.usercode.service_detection import DetectedService, detect_service, in_text

NAMES = ("model_fn", "train_input_fn", "eval_input_fn", "serving_input_receiver_fn")
FOUR = "\n".join(f"def {name}(): pass" for name in NAMES)


@pytest.mark.parametrize(
    ("text", "dialects"),
    [
        ("print 'python 2'", []),
        ("mox.run(a)", ["dls"]),
        ("moxing.tensorflow.run (a)", ["dls"]),
        ("# mox.run(a)", []),
        ("import moxing as mox\nmox.file.copy(a, b)", []),
        ("os.environ.get('TM_MODEL_DIR')", ["ti"]),
        ("os.environ['SM_HPS']", ["ti"]),
        ("MY_SM_HPSX = 1; ATM_MODEL = 2", []),
        (FOUR, ["modelmaker"]),
        (FOUR.replace("model_fn", "keras_model_fn"), ["modelmaker"]),
        (FOUR.replace("model_fn", "estimator_fn").replace("_receiver", ""), ["modelmaker"]),
        (FOUR.replace("def model_fn", "def my_model_fn"), []),
        (FOUR.replace("def train_input_fn(): pass", "train_input_fn = rows(True)"), ["modelmaker"]),
        (FOUR.replace("def model_fn(): pass", "from net import model_fn"), ["modelmaker"]),
        ("from all_of_it import (\n    " + ",\n    ".join(NAMES) + ",\n)", ["modelmaker"]),
        (FOUR + "\nif model_fn == 1: pass", ["modelmaker"]),
        (FOUR + "\ntf.estimator.train_and_evaluate(estimator, train, evaluate)", []),
        (FOUR + "\nestimator.train(input_fn=lambda: train_input_fn(a, b), steps=10)", []),
        ("def model_fn(): pass", []),
        ("mox.run(x)\nos.environ['TM_HPS']", ["dls", "ti"]),
    ],
)
def test_signs_of_a_service(text, dialects):
    assert list(in_text(text)) == dialects


def seen(**texts):
    named = {name.replace("__", "/") + ".py": text for name, text in texts.items()}
    return CodeSnapshot(frozenset(named), named)


def test_incomplete_modelmaker_file_is_detected():
    three = FOUR.replace("def eval_input_fn", "def evaluate_input_fn")

    found = detect_service(seen(model=three), "model.py")

    assert found.dialect == "modelmaker"
    assert "model_fn, train_input_fn, serving_input_receiver_fn" in found.why


@pytest.mark.parametrize(
    "rest",
    ["if __name__ == '__main__':\n    tf.app.run()", "main()", "model.fit(train_input_fn())"],
)
def test_parts_that_script_uses_itself_are_no_sign(rest):
    code = FOUR.replace("def eval_input_fn", "def evaluate") + "\n" + rest

    assert detect_service(seen(train=code), "train.py").dialect == "modelarts"


def test_a_tie_names_both():
    with pytest.raises(Refused) as caught:
        detect_service(seen(train="mox.run(x)\nos.environ['TM_HPS']"), "train.py")

    assert "dls (train.py has mox.run)" in caught.value.message
    assert "ti (train.py has TM_HPS)" in caught.value.message
    assert caught.value.hint == "Say which: --dialect dls or --dialect ti"


def test_file_to_start_is_asked_before_directory():
    code = seen(train="mox.run(x)", other="os.environ['TM_HPS']", setup="", trainer__task="")

    assert detect_service(code, "train.py").dialect == "dls"
    with pytest.raises(Refused, match=r"like kdl .* and like ti"):
        detect_service(
            seen(train="", other="os.environ['TM_HPS']", setup="", trainer__task=""), "train.py"
        )


@pytest.mark.parametrize(
    ("text", "dialect"),
    [("mox.run(x)", "dls"), ("os.environ['SM_HPS']", "ti"), (FOUR, "modelmaker")],
)
def test_a_directory_may_show_it_in_another_file(text, dialect):
    found = detect_service(seen(train="import beside", beside=text), "train.py")

    assert (found.dialect, found.why.split(" ")[0]) == (dialect, "beside.py")
    assert detect_service(seen(beside=text), "").dialect == dialect


def test_a_package_beside_its_setup_is_kdl():
    assert detect_service(seen(setup="", trainer__task=""), "").dialect == "kdl"


def test_of_a_single_file_nothing_else_counts():
    alone = CodeSnapshot(frozenset({"train.py"}), {"train.py": ""}, around=False)

    assert detect_service(alone, "train.py").dialect == "modelarts"


def test_without_a_sign_it_is_modelarts(tmp_path):
    (tmp_path / "train.py").write_bytes(b"\xff\xfe not utf-8")

    found = detect_service(read_code(place(str(tmp_path))), "train.py")

    assert found == DetectedService("modelarts", "train.py shows no sign of another service")


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_an_archive_is_looked_into(tmp_path, kind):
    folder = tmp_path / "trainer-1.0"
    (folder / "trainer").mkdir(parents=True)
    (folder / "setup.py").write_text("")
    (folder / "trainer" / "task.py").write_text("print('x')\n")
    path = shutil.make_archive(
        str(tmp_path / "packed"), "gztar" if kind == "tar.gz" else "zip", tmp_path, "trainer-1.0"
    )

    assert detect_service(read_code(place(path)), "").dialect == "kdl"


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b", b"PK\x03\x04", b"text"])
def test_a_broken_archive_shows_nothing(tmp_path, data):
    for name in ("a.tar.gz", "a.zip"):
        (tmp_path / name).write_bytes(data)

        assert read_code(place(str(tmp_path / name))).names == frozenset()
