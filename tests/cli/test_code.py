import pytest

from danlu.cli.code import locate
from danlu.errors import Refused


@pytest.fixture
def folder(tmp_path):
    def make(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        return str(tmp_path)

    return make


@pytest.mark.parametrize(
    ("names", "boot_file"),
    [
        (("only.py", "data.txt"), "only.py"),
        (("train.py", "model.py"), "train.py"),
        (("main.py", "model.py"), "main.py"),
        (("start.py", "deep/main.py"), "start.py"),
    ],
)
def test_the_file_to_start_is_found(folder, names, boot_file):
    assert locate(folder(*names), "").boot_file == boot_file


@pytest.mark.parametrize("names", [("a.py", "b.py"), ("train.py", "main.py")])
def test_ambiguous_entry_error_names_the_candidates(folder, names):
    with pytest.raises(Refused) as caught:
        locate(folder(*names), "")

    assert caught.value.hint == f"Choose with --boot-file: {', '.join(sorted(names))}"


def test_a_directory_without_python_is_refused(folder):
    with pytest.raises(Refused, match="no Python file"):
        locate(folder("data.csv"), "")


def test_a_file_is_its_own_boot_file(folder):
    code = locate(folder("x.py") + "/x.py", "")

    assert code.boot_file == "x.py"


def test_a_file_and_another_boot_file_are_refused(folder):
    with pytest.raises(Refused, match="names another"):
        locate(folder("x.py") + "/x.py", "y.py")


def test_boot_file_is_found_from_current_directory(folder, tmp_path, monkeypatch):
    folder("code/deep/x.py")
    monkeypatch.chdir(tmp_path)

    assert locate("code", "deep/x.py").boot_file == "deep/x.py"
    assert locate("code", "code/deep/x.py").boot_file == "deep/x.py"


def test_boot_file_that_is_not_there_is_refused(folder):
    with pytest.raises(Refused, match=r"no file 'run\.py'"):
        locate(folder("train.py"), "run.py")


def test_code_in_a_store_needs_its_boot_file():
    assert locate("obs://b/code/", "x.py").path == "obs://b/code/"
    with pytest.raises(Refused, match="needs --boot-file"):
        locate("obs://b/code/", "")
