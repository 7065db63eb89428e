"""Requirements files as people wrote them."""

import pytest

from danlu.agent.packages.requirements import (
    PackageChange,
    PackageRequest,
    RequestedPackages,
    choose,
    dropped,
    parse,
)


def read(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "requirements.txt"
    path.write_bytes(text.encode(encoding))
    asked = RequestedPackages()
    asked.read_file(path)
    return asked


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("numpy==1.16.4", "numpy==1.16.4"),
        ("NumPy == 1.16.4  # old", "numpy==1.16.4"),
        ("Pillow>=5,<6", "pillow<6,>=5"),
        ("requests[security]", "requests[security]"),
        ("numpy=1.16.4=py36h7e9f1db_0", "numpy==1.16.4"),
        ("scipy=1.2.1", "scipy==1.2.1"),
        ("six==1.12.0 --hash=sha256:abc", "six==1.12.0"),
        ("numpy @ file:///tmp/build/80754af9/numpy_1610", "numpy"),
        ("tqdm＝＝4.19", "tqdm==4.19"),
        ("git+https://host/who/keras-contrib.git", None),
        ("-e git+https://host/who/x.git@v1#egg=Some_Name", None),
        ("https://host/who/thing/archive/master.zip", None),
        ("https://host/who/thing-1.0.tar.gz", None),
    ],
)
def test_one_line(tmp_path, line, text):
    asked = read(tmp_path, line + "\n")

    assert asked.faults == []
    [wanted] = asked.wanted
    if text is None:
        names = ("keras-contrib", "some-name", "thing")
        assert wanted.name in names
        assert wanted.text == f"{wanted.name} @ {wanted.url}"
    else:
        assert wanted.text == text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
def test_encodings_of_windows(tmp_path, encoding):
    asked = read(tmp_path, "# 依赖\r\nsix==1.0\r\n", encoding)

    assert [(w.text, w.where) for w in asked.wanted] == [("six==1.0", "requirements.txt line 2")]


def test_continued_lines_and_files_naming_each_other(tmp_path):
    (tmp_path / "more.txt").write_text("-r requirements.txt\ntqdm\n")

    asked = read(tmp_path, "six \\\n  ==1.0\n\n-r more.txt\nfuture; python_version < '3'\n")

    found = [(w.text, w.where) for w in asked.wanted]
    assert found == [("six==1.0", "requirements.txt line 1"), ("tqdm", "more.txt line 2")]


def test_options(tmp_path):
    (tmp_path / "wheels").mkdir()
    (tmp_path / "setup.py").write_text("")

    asked = read(tmp_path, "-i http://mirror/simple\n--find-links=wheels\n--pre\n-e .\n-c x.txt\n")

    assert asked.links == [tmp_path / "wheels"]
    assert asked.packages == {tmp_path: False}
    assert asked.prerelease
    assert [note.split(":")[0] for note in asked.notes] == [
        "requirements.txt line 1",
        "requirements.txt line 5",
    ]
    assert "mirror" not in asked.notes[0]


RUNTIME = {"tensorflow": "2.21.0", "numpy": "2.3.1", "click": "8.3.0", "danlu": "0.1.0"}


@pytest.mark.parametrize(
    ("asked", "install", "why", "got"),
    [
        ("numpy", None, None, None),
        ("numpy>=1.16", None, None, None),
        ("numpy==1.16.4", None, "runtime", "numpy"),
        ("tensorflow-gpu==1.13.1", None, "runtime", "tensorflow"),
        ("moxing", None, "runtime", "danlu"),
        ("sklearn==0.0", "scikit-learn", "renamed", "scikit-learn"),
        ("opencv-python==3.4", "opencv-python-headless==3.4", "renamed", "opencv-python-headless"),
        ("futures==3.0", None, "not_needed", ""),
        ("python=3.7", None, "python", ""),
        ("easydict==1.7", "easydict==1.7", None, None),
    ],
)
def test_what_becomes_of_a_name(asked, install, why, got):
    choice = choose(parse(asked, "here"), RUNTIME)

    assert (choice.install.text if choice.install else None) == install
    assert choice.change == (PackageChange(asked, "here", why, got) if why else None)


def test_wheel_of_runtime_package_is_not_installed():
    choice = choose(PackageRequest("x", "here", "numpy", url="file:///numpy.whl"), RUNTIME)

    assert choice.install is None
    assert choice.change.why == "runtime"


def test_dependencies_install_no_second_tensorflow():
    names = dropped(RUNTIME)

    assert {"tensorflow-gpu", "tensorflow-cpu", "futures"} <= set(names)
    assert not {"tensorflow", "opencv-python"} & set(names)
