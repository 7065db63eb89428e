"""danlu python: as plain python, on the runtime of a job."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.cli.commands.check import VersionChoice
from danlu.cli.commands.python import choose, environment, read
from danlu.errors import Refused

DANLU = Path(sys.executable).with_name("danlu")
GRAPH = "import tensorflow as tf\ntf.Session()\n"
EAGER = "import tensorflow as tf\ntf.GradientTape()\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "code of 小王"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def python(*words, text="", **env):
    return subprocess.run(
        [DANLU, "python", *words],
        input=text,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_every_word_after_the_script_is_the_scripts(here):
    (here / "train.py").write_text("import sys\nprint(sys.argv, __name__)")

    words = ["--help", "--json", "--framework-version", "1.14", "-m", "--", "-h"]
    done = python("train.py", *words)

    assert done.stdout == f"{['train.py', *words]} __main__\n"


def test_a_module_finds_its_package_beside_it(here):
    (here / "trainer").mkdir()
    (here / "trainer" / "__init__.py").write_text("")
    (here / "trainer" / "model.py").write_text("NAME = 'ours'")
    (here / "trainer" / "task.py").write_text(
        "import sys\nfrom trainer import model\nprint(model.NAME, sys.argv[1:], __name__)"
    )

    done = python("-m", "trainer.task", "--max_epochs", "3")

    assert done.stdout == "ours ['--max_epochs', '3'] __main__\n", done.stderr


@pytest.mark.parametrize(
    ("text", "code"),
    [("import sys; sys.exit(7)", 7), ("raise SystemExit('no')", 1), ("pass", 0), ("1 / 0", 1)],
)
def test_the_exit_code_is_the_scripts(here, text, code):
    (here / "train.py").write_text(text)

    assert python("train.py").returncode == code


def test_traceback_shows_users_lines_and_none_of_ours(here):
    (here / "train.py").write_text("def go():\n    return 1 / 0\n\ngo()\n")

    done = python("train.py")

    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert 'train.py", line 4, in <module>\n    go()' in done.stderr
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "danlu_runtime" not in done.stderr


def test_code_prompt_and_standard_input_work_as_pythons(here):
    assert python("-c", "import sys; print(sys.argv)", "--x").stdout == "['-c', '--x']\n"
    assert python(text="print(1 + 1)").stdout == "2\n"
    assert python("-", "a", text="import sys; print(sys.argv)").stdout == "['-', 'a']\n"


def test_options_of_python_are_pythons(here):
    (here / "train.py").write_text("import sys\nprint(sys.flags.optimize, sys.argv)")

    assert python("-u", "-O", "-W", "ignore", "train.py", "-O").stdout == ("1 ['train.py', '-O']\n")


def test_processes_script_starts_are_of_same_runtime(here):
    show = "import os; print(os.environ['DANLU_TENSORFLOW'])"
    (here / "train.py").write_text(
        f"import subprocess\nsubprocess.run(['python', '-c', {show!r}], check=True)"
    )

    assert python("--framework-version", "1.4", "train.py").stdout == "1.4.0\n"


def test_a_script_reads_what_is_typed(here):
    (here / "train.py").write_text("print('got', input())")

    assert python("train.py", text="yes\n").stdout == "got yes\n"


def test_what_is_not_there_is_reported_briefly(here):
    done = python("nothing.py")

    assert done.returncode == 2
    assert "There is no file or directory 'nothing.py'." in done.stderr
    with pytest.raises(Refused, match="There is nothing after -m"):
        read(["-m"])


def test_help_before_the_script_is_ours(here):
    assert "-m trainer.task" in python("--help").stdout


@pytest.mark.parametrize(
    ("text", "version"),
    [(GRAPH, "1.15.5"), (EAGER, "2.15.0"), ("import tensorflow", "1.15.5"), ("print(1)", "")],
)
def test_script_sees_tensorflow_it_was_written_for(here, text, version):
    (here / "train.py").write_text("from net import model")
    (here / "net").mkdir()
    (here / "net" / "model.py").write_text(text)
    (here / "other.py").write_text(EAGER if version.startswith("1") else GRAPH)

    assert choose("", read(["train.py", "--x"])).version == version
    assert choose("", read(["-m", "net.model"])).version == version
    assert choose("", read(["-c", text])).version == version


def test_the_version_asked_for_wins(here):
    (here / "train.py").write_text(GRAPH)
    target = read(["train.py"])

    assert choose("2.16", target).version == "2.16.0"
    assert choose("none", target).version == ""
    with pytest.raises(Refused, match="'9' is no version of TensorFlow"):
        choose("9", target)


def test_a_prompt_is_for_trying_things_of_old(here):
    assert choose("", read([])).version == "1.15.5"


def test_folder_of_script_is_what_may_be_repaired(here):
    (here / "sub").mkdir()
    (here / "sub" / "train.py").write_text("")
    made = environment(
        {"PYTHONPATH": "/mine", "PATH": "/bin"}, read(["sub/train.py"]), VersionChoice("", "")
    )

    assert made["DANLU_CODE"] == str(here / "sub")
    assert made["PYTHONPATH"].endswith("/danlu_runtime/startup:/mine")
    assert made["PATH"] == f"{Path(sys.executable).parent}:/bin"
    assert "DANLU_TENSORFLOW" not in made


def test_no_server_is_started(here, home):
    (here / "train.py").write_text("pass")

    python("train.py")

    assert not (home / "server.json").exists()
