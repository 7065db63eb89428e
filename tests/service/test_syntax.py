"""A script with a syntax error is refused before a job of it is queued."""

import io
import subprocess
import tarfile

import pytest

from danlu.errors import InvalidJob
from danlu.service.jobs.syntax import find_syntax_faults


def syntax_fault(name, data):
    return find_syntax_faults({name: data}).get(name, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import os\nprint((1, 2)\n", "train.py:2: '(' was never closed: `print((1, 2)`"),
        ("def f():\n    reutrn 3\n", "train.py:2: invalid syntax. Did you mean 'return'?"),
        ("if True\n    pass\n", "train.py:1: expected ':': `if True`"),
        ("x = 'a\n", "train.py:1: unterminated string literal"),
    ],
)
def test_a_syntax_error_is_reported_with_its_line(text, message):
    assert syntax_fault("train.py", text.encode()).startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "print('right')\n",
        "print 'Python 2'\n",
        "print('wide'， 1)\n",
        "if 1 <> 2:\n    raise ValueError, 'Python 2'\n",
        "x = `1`\n",
        "if True:\n        a = 1\n\tb = 2\n",
        "def f():\n\tx = 1\n        return x\n",
        "try:\n    pass\nexcept (ValueError, OSError), error:\n    pass\n",
        "x = ur'a'\n",
        "exec 'a = 1' in {}\n",
    ],
)
def test_what_is_repaired_is_no_fault(text):
    assert syntax_fault("train.py", text.encode()) == ""


@pytest.mark.parametrize("text", ["print('right')\n", "print 'Python 2'\n", "f(1， 2)\n"])
def test_a_script_that_runs_starts_no_process(text, monkeypatch):
    def refuse(*words, **options):
        raise AssertionError(words)

    monkeypatch.setattr(subprocess, "run", refuse)

    assert syntax_fault("train.py", text.encode()) == ""


def test_line_that_is_shown_does_not_steer_terminal():
    fault = syntax_fault("train.py", f"if 'a\x1b[2J' {'b' * 500}\n".encode())

    assert fault.startswith("train.py:1: ")
    assert fault.isprintable()
    assert len(fault) < 400


def packed(files):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return data.getvalue()


BROKEN = b"def f():\n    reutrn 3\n"


def test_script_of_folder_in_store_is_checked(platform):
    platform.put("obs://bucket/code/train.py", BROKEN)
    request = {"dialect": "modelarts", "code": "obs://bucket/code", "boot_file": "train.py"}

    with pytest.raises(InvalidJob, match=r"boot_file: train\.py:2: invalid syntax"):
        platform.service.submit(request)

    assert list(platform.records.living()) == []


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({"trainer/task.py": BROKEN}, "trainer/task.py:2"),
        ({"trainer/task/__main__.py": BROKEN}, "trainer/task/__main__.py:2"),
        ({"t-1.0/setup.py": b"", "t-1.0/trainer/task.py": BROKEN}, "trainer/task.py:2"),
        ({"task.py": BROKEN}, "trainer/task.py:2"),
    ],
)
def test_the_module_of_an_archive_is_checked(platform, files, text):
    platform.put("ks3://bucket/t.tar.gz", packed(files))
    request = {"dialect": "kdl", "code": "ks3://bucket/t.tar.gz", "module": "trainer.task"}

    with pytest.raises(InvalidJob, match=f"module: {text}: invalid syntax"):
        platform.service.submit(request)


def submitted(platform, files):
    for name, text in files.items():
        platform.put(f"obs://bucket/code/{name}", text)
    request = {"dialect": "modelarts", "code": "obs://bucket/code", "boot_file": "train.py"}
    return platform.service.plan(request)


@pytest.mark.parametrize(
    "statement",
    [
        "import model.net",
        "import model.net as network",
        "from model import net",
        "from model.net import Net",
        "import model",  # its __init__ imports the module
        "def main():\n    from model import net\n",
        "if __name__ == '__main__':\n    import model.net\n",
        "print 'Python 2'\nimport model.net",
        "try:\n    import model.net\nexcept KeyboardInterrupt:\n    pass",
    ],
)
def test_a_module_that_the_script_imports_is_checked(platform, statement):
    files = {
        "train.py": statement.encode(),
        "model/__init__.py": b"from . import part\n",
        "model/part.py": b"from .net import Net\n",
        "model/net.py": BROKEN,
    }

    text = r"^code: model/net\.py:2: invalid syntax\. Did you mean 'return'\?: `reutrn 3`"
    with pytest.raises(InvalidJob, match=text):
        submitted(platform, files)


def test_every_broken_module_is_reported_at_once(platform):
    files = {"train.py": b"import a, b\n", "a.py": BROKEN, "b.py": b"x = (\n"}

    with pytest.raises(InvalidJob) as refused:
        submitted(platform, files)

    assert "code: a.py:2: invalid syntax" in str(refused.value)
    assert " b.py:1: '(' was never closed" in str(refused.value)


@pytest.mark.parametrize(
    "statement",
    [
        "import os",
        "try:\n    import net\nexcept ImportError:\n    net = None",
        "try:\n    import net\nexcept:\n    net = None",
        "import sys\nif sys.argv[1:]:\n    import net",
        "from model import net",  # a name of the package
        "import model",
        "from outside import net",
    ],
)
def test_optional_module_is_no_fault(platform, statement):
    files = {
        "train.py": statement.encode(),
        "net.py": BROKEN,
        "model/__init__.py": b"net = 3\n",
        "model/net.py": BROKEN,
    }

    assert submitted(platform, files).job.spec.entry == "train.py"


def test_a_module_in_python_2_is_no_fault(platform):
    files = {
        "train.py": b"import net\n",
        "net.py": b"import deep\nprint 'a' if 1 <> 2 else `3`\n",
        "deep.py": b"x = ur'a'\n",
    }

    assert submitted(platform, files).job.spec.entry == "train.py"
