"""docs/guides/mox-file.md: its programs run, and its table is the functions as they are."""

import inspect
import subprocess
import sys

import pytest

import moxing as mox
from pages import ROOT, Page

GUIDE = Page(ROOT / "docs" / "guides" / "mox-file.md")
UNSAID = ("_", "others", "kwargs")


def test_the_programs_of_the_guide_run(here):
    program = "\n".join(block.text for block in GUIDE.blocks if block.kind == "python")
    program = program.replace("/tmp/", f"{here}/")

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert (here / "notes/a.txt").read_text() == "hello\nagain\n"
    assert (here / "a.zip").exists()


def spelt(name: str) -> str:
    parameters = inspect.signature(getattr(mox.file, name)).parameters.values()
    words = [
        item.name if item.default is item.empty else f"{item.name}={item.default!r}"
        for item in parameters
        if item.name not in UNSAID
    ]
    return f"`{name}({', '.join(words)})`"


@pytest.mark.parametrize(
    "name", [name for name in mox.file.__all__ if not name.endswith("Exception")]
)
def test_every_function_has_its_line_with_its_arguments(name):
    assert spelt(name) in {row[0] for row in GUIDE.rows()}


def test_every_function_that_is_shifted_is_named():
    from moxing.framework.file import shifting

    names = {
        name for table in (shifting._ONE, shifting._TWO) for _, found in table for name in found
    }
    text = {span.rpartition(".")[2] for span in GUIDE.spans}

    assert names <= text


def test_import_prints_nothing():
    script = (
        "import logging, moxing as mox\n"
        "mox.file.exists('/')\n"
        "assert logging.getLogger().handlers == []\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(("silent", "received"), [("", "INFO:root:step 1\n"), ("1", "")])
def test_script_log_line_is_printed_once(monkeypatch, silent, received):
    monkeypatch.setenv("MOX_SILENT_MODE", silent)
    script = "import logging, moxing as mox; logging.info('step 1')"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert done.stderr == received
