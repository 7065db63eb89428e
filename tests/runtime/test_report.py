"""The file TI's launcher leaves when a script has ended: 'success', or 'failure' and why."""

import subprocess
import sys
from pathlib import Path

import pytest

import danlu_runtime
from danlu.taskdir.exchange_dir import ExchangeDir, Launch

LAUNCHER = Path(danlu_runtime.__file__).with_name("launch.py")


@pytest.fixture
def report_of(tmp_path):
    """Run a script and return the files it leaves, by name."""

    def run(script):
        code, report = tmp_path / "code", tmp_path / "output"
        code.mkdir()
        report.mkdir()
        (code / "train.py").write_text(script)
        box = ExchangeDir(tmp_path / "box")
        launch = Launch(str(code / "train.py"), (str(report),), False, (), str(code))
        box.write_launch(Launch(**{**vars(launch), "report": str(report)}))
        subprocess.run([sys.executable, LAUNCHER, box.folder], check=False, cwd=code)
        return {path.name: path.read_text() for path in report.iterdir()}

    return run


@pytest.mark.parametrize("script", ["pass", "import sys; sys.exit(0)", "raise SystemExit"])
def test_a_good_end_leaves_the_word_success(report_of, script):
    assert report_of(script) == {"success": "success"}


def test_failure_report_begins_with_its_reason(report_of):
    (name, text), *_ = report_of("def f():\n    raise ValueError('bad rate')\nf()\n").items()

    assert name == "failure"
    assert text.startswith("ValueError: bad rate\n\nTraceback (most recent call last):\n")
    assert "train.py" in text
    assert "launch.py" not in text


@pytest.mark.parametrize(
    ("leaving", "reason"),
    [("7", "The script ended with exit code 7."), ("'no data'", "no data")],
)
def test_script_that_leaves_with_error_has_failed(report_of, leaving, reason):
    assert report_of(f"import sys; sys.exit({leaving})") == {"failure": reason}


def test_a_reason_the_script_has_written_itself_stays(report_of):
    script = "import sys\nopen(sys.argv[1] + '/failure', 'w').write('mine')\nraise ValueError\n"

    assert report_of(script) == {"failure": "mine"}


def test_a_forked_process_leaves_no_file(report_of):
    script = "import os\nif os.fork() == 0:\n    raise ValueError\nos.wait()\n"

    assert report_of(script) == {"success": "success"}
