"""Fixed paths mapped at Python level, where the kernel gives no private ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from danlu_runtime.start.paths import translate

MAPPED = {"/cache": "/w/root/cache", "/opt/ml": "/w/root/opt/ml"}


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("/cache", "/w/root/cache"),
        ("/cache/a", "/w/root/cache/a"),
        ("/cache/", "/w/root/cache/"),
        ("/opt/ml/model", "/w/root/opt/ml/model"),
        (b"/cache/x", b"/w/root/cache/x"),
        (Path("/cache/x"), "/w/root/cache/x"),
        ("/cached", "/cached"),
        ("/opt/mlx", "/opt/mlx"),
        ("cache/a", "cache/a"),
        ("", ""),
        (3, 3),
        (None, None),
    ],
)
def test_translation(path, real):
    assert translate(path, MAPPED) == real


def test_non_path_is_passed_to_real_function():
    thing = object()

    assert translate(thing, MAPPED) is thing


SCRIPT = """
import sys
from danlu_runtime.start import paths
paths.install({"/cache": sys.argv[1]})
import glob, io, os, pathlib, shutil, tempfile

with open("/cache/a.txt", "w") as f:
    f.write("a")
with io.open(file="/cache/b.txt", mode="w") as f:
    f.write("b")
os.makedirs("/cache/deep/er", exist_ok=True)
os.rename("/cache/b.txt", "/cache/deep/b.txt")
os.symlink("/cache/a.txt", "/cache/link")
pathlib.Path("/cache/c.txt").write_text("c")
assert pathlib.Path("/cache/c.txt").read_text() == "c"
assert pathlib.Path("/cache").is_dir() and pathlib.Path("/cache/a.txt").exists()
names = sorted(path.name for path in pathlib.Path("/cache").iterdir())
assert names == ["a.txt", "c.txt", "deep", "link"]
assert os.path.exists("/cache/a.txt") and os.path.isdir("/cache/deep")
assert os.path.getsize("/cache/a.txt") == 1
assert open("/cache/link").read() == "a"
assert sorted(glob.glob("/cache/*.txt")) == ["/cache/a.txt", "/cache/c.txt"]
assert glob.glob("/cache/**/b.txt", recursive=True) == ["/cache/deep/b.txt"]
assert [sorted(d) for _, d, _ in os.walk("/cache")] == [["deep"], ["er"], []]
shutil.copytree("/cache/deep", "/cache/copy")
shutil.copyfile("/cache/a.txt", "/cache/copy/a.txt")
shutil.move("/cache/copy/a.txt", "/cache/moved.txt")
shutil.rmtree("/cache/copy")
assert not os.path.exists("/cache/copy")
os.remove("/cache/moved.txt")
with tempfile.NamedTemporaryFile(dir="/cache") as f:
    assert os.path.exists(f.name)
os.chdir("/cache/deep")
assert os.listdir(".") == ["b.txt", "er"] or os.listdir(".") == ["er", "b.txt"]
assert not os.access("/cache/nothing", os.R_OK)
fd = os.open("/cache/a.txt", os.O_RDONLY)
assert os.stat(fd).st_size == 1
os.close(fd)
os.utime("/cache/a.txt", (1, 1))
assert os.stat(path="/cache/a.txt").st_mtime == 1
assert shutil.disk_usage("/cache").total > 0
try:
    open("/cache/missing")
except FileNotFoundError as error:
    print("ok")
"""


def test_everything_python_opens_files_with(tmp_path):
    real = tmp_path / "cache, real"
    real.mkdir()

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(real)], capture_output=True, text=True, check=False
    )

    assert (done.stdout, done.stderr) == ("ok\n", "")
    assert (real / "a.txt").read_text() == "a"
    assert os.readlink(real / "link") == str(real / "a.txt")
    assert not os.path.exists("/cache/a.txt")
