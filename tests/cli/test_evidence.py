import pytest

from danlu.cli.evidence import find, in_text
from danlu.errors import Refused

FOUR = "\n".join(
    f"def {name}(): pass"
    for name in ("model_fn", "train_input_fn", "eval_input_fn", "serving_input_receiver_fn")
)


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
        ("def model_fn(): pass", []),
        ("mox.run(x)\nos.environ['TM_HPS']", ["dls", "ti"]),
    ],
)
def test_signs_of_a_service(text, dialects):
    assert list(in_text(text)) == dialects


def test_a_tie_names_both(tmp_path):
    (tmp_path / "train.py").write_text("mox.run(x)\nos.environ['TM_HPS']")

    with pytest.raises(Refused) as caught:
        find("train.py", tmp_path)

    assert "dls (mox.run)" in caught.value.message
    assert "ti (TM_HPS)" in caught.value.message


def test_a_package_beside_its_setup_is_kdl(tmp_path):
    (tmp_path / "trainer").mkdir()
    (tmp_path / "trainer" / "task.py").write_text("")
    (tmp_path / "setup.py").write_text("")

    assert find("trainer/task.py", tmp_path).dialect == "kdl"


def test_without_a_sign_it_is_modelarts(tmp_path):
    (tmp_path / "train.py").write_bytes(b"\xff\xfe not utf-8")

    assert find("train.py", tmp_path).dialect == "modelarts"
