import os
import tarfile
from pathlib import Path, PurePosixPath

import pytest

from danlu.client.bundle import Ignored, modules_beside, packed, select
from danlu.errors import Refused
from danlu.settings import load
from danlu.storage.archive import ArchiveLimits, check


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setenv("DANLU_HOME", str(tmp_path / "home"))
    return load({"code_limit": "4M", "code_files": 50})


@pytest.fixture
def code(tmp_path):
    folder = tmp_path / "my code 代码"
    folder.mkdir()
    return folder


def lay(folder: Path, *names: str, text="x = 1\n"):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(bundle):
    return [str(name) for name in bundle.files]


def test_directory_is_packed_without_ignored_files(code, settings):
    lay(code, "train.py", "data/labels.txt", "pkg/__init__.py", "训练.py", ".hidden")
    lay(code, ".git/config", "__pycache__/a.pyc", "pkg/b.pyc", ".venv/bin/python", "venv/x")
    lay(code, "node_modules/a.js", ".ipynb_checkpoints/a.ipynb", ".DS_Store", "a.egg-info/PKG")

    assert names(select(code, settings)) == [
        ".hidden", "train.py", "训练.py", "data/labels.txt", "pkg/__init__.py"
    ]  # fmt: skip


def test_the_ignore_file_reports_what_else_stays(code, settings):
    lay(code, "train.py", "a.log", "keep.log", "sub/b.log", "data/x", "sub/data/y", "out/z")
    (code / ".danluignore").write_text("# ours\n*.log\n!keep.log\n/data\n\nout/\n")

    assert names(select(code, settings)) == ["keep.log", "train.py", "sub/data/y"]


@pytest.mark.parametrize(
    ("pattern", "path", "folder", "ignored"),
    [
        ("*.ckpt", "a/b/model.ckpt", False, True),
        ("/data", "data", True, True),
        ("/data", "sub/data", True, False),
        ("logs/", "logs", False, False),
        ("logs/", "logs", True, True),
        ("a/*.txt", "a/b.txt", False, True),
        ("a/*.txt", "c/a/b.txt", False, False),
    ],
)
def test_a_pattern_of_the_ignore_file(pattern, path, folder, ignored):
    rules = Ignored([pattern])
    ask = rules.folder if folder else rules.file

    assert ask(PurePosixPath(path)) is ignored


def test_file_brings_imported_modules_and_small_files(code, settings):
    (code / "train.py").write_text(
        "import os, model\nfrom nets import resnet\nfrom helper.sub import f\nimport tensorflow\n"
    )
    (code / "model.py").write_text("import layers\n")
    lay(code, "layers.py", "other.py", "helper/sub.py", "helper/table.json", "unused/a.py")
    (code / "nets.py").write_text("def f(:\n")  # for example Python 2: packed, but not parsed
    lay(code, "labels.txt", ".netrc")
    (code / "big.bin").write_bytes(b"\0" * (2 << 20))

    bundle = select(code / "train.py", settings)

    assert set(names(bundle)) == {
        "train.py", "model.py", "layers.py", "nets.py", "helper/sub.py", "helper/table.json",
        "labels.txt",
    }  # fmt: skip
    assert bundle.entry == "train.py"
    assert [str(name) for name in bundle.left_out] == ["big.bin"]


def test_small_files_come_along_until_they_are_many(code, settings):
    lay(code, "train.py")
    for number in range(25):
        (code / f"part-{number:02}").write_bytes(b"\0" * 1_000_000)

    bundle = select(code / "train.py", load({"code_limit": "64M"}))

    assert len(bundle.files) == 1 + 20
    assert len(bundle.left_out) == 5


def test_imports_are_followed_through_packages_and_dots(code):
    (code / "train.py").write_text("from pkg.a import x\n")
    lay(code, "pkg/__init__.py", "pkg/sub/c.py", text="")
    (code / "pkg/a.py").write_text("from . import b\nfrom .. import beside\nimport far.away\n")
    lay(code, "pkg/b.py", "beside.py", "far/away.py")

    assert {str(name) for name in modules_beside(code / "train.py")} == {
        "pkg/__init__.py", "pkg/a.py", "pkg/b.py", "pkg/sub/c.py", "beside.py", "far/away.py"
    }  # fmt: skip


def test_old_scripts_escapes_are_no_warning_of_ours(code):
    (code / "train.py").write_text("import re\nre.compile('\\d')\nprint(1 is 1)\n")

    assert modules_beside(code / "train.py") == set()


def test_link_inside_is_followed_and_one_outside_refused(code, settings, tmp_path):
    lay(code, "real.py")
    (code / "linked.py").symlink_to("real.py")
    assert names(select(code, settings)) == ["linked.py", "real.py"]

    (tmp_path / "secret").write_text("x")
    (code / "out").symlink_to(tmp_path / "secret")
    with pytest.raises(Refused, match="outside the code"):
        select(code, settings)
    (code / ".danluignore").write_text("out\n")
    assert names(select(code, settings)) == ["linked.py", "real.py"]


def test_a_sibling_with_the_same_beginning_is_outside(code, settings):
    sibling = code.with_name(code.name + "-secret")
    lay(sibling, "key")
    lay(code, "train.py")
    (code / "key").symlink_to(sibling / "key")

    with pytest.raises(Refused, match="outside the code"):
        select(code, settings)


def test_too_much_code_is_refused_with_largest_files(code, settings):
    lay(code, "train.py")
    for number, size in enumerate((3, 1, 2)):
        (code / f"weights-{number}.bin").write_bytes(b"\0" * (size << 20))

    with pytest.raises(Refused) as caught:
        select(code, settings)

    assert "weights-0.bin (3.0 MiB), weights-2.bin (2.0 MiB)" in caught.value.message
    assert "6.0 MiB; 4.0 MiB are allowed" in caught.value.message


def test_too_many_files_are_refused(code, settings):
    lay(code, *(f"{number}.py" for number in range(51)))

    with pytest.raises(Refused, match="51 files; 50 are allowed"):
        select(code, settings)


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_nothing_to_run_is_reported(code, settings, name):
    (code / "empty").mkdir()

    with pytest.raises(Refused, match="There is no file"):
        select(code / name, settings)


def test_equal_files_give_an_equal_archive(code, settings, tmp_path):
    lay(code, "train.py", "b/c.txt", "a b.txt")
    (code / "run.sh").write_text("#!/bin/sh\n")
    (code / "run.sh").chmod(0o755)
    copy = tmp_path / "copy"
    lay(copy, "a b.txt", "b/c.txt", "train.py")
    (copy / "run.sh").write_text("#!/bin/sh\n")
    (copy / "run.sh").chmod(0o700)

    with packed(select(code, settings)) as first, packed(select(copy, settings)) as second:
        assert first.read() == second.read()
        first.seek(0)
        with tarfile.open(fileobj=first) as archive:
            members = {member.name: oct(member.mode) for member in archive}

    assert members == {
        "a b.txt": "0o644", "run.sh": "0o755", "train.py": "0o644", "b/c.txt": "0o644"
    }  # fmt: skip


def test_archive_has_no_name_that_could_be_left(code, settings, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    lay(code, "train.py")

    with packed(select(code, settings)) as archive:
        assert archive.read(2) == b"\x1f\x8b"
        assert os.listdir(tmp_path / "temporary") == []


def test_the_server_takes_what_was_packed(code, settings):
    lay(code, "train.py", "包/数据.txt", "l" * 200 + ".txt")

    with packed(select(code, settings)) as archive:
        found = check(archive, ArchiveLimits(total=1 << 20, files=10))

    assert found.files == 3
