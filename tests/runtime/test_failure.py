import linecache
from pathlib import Path

import pytest

import danlu_runtime
from danlu.job.status import Frame
from danlu_runtime.reports.failure import describe, own_fault


def fail():
    raise ValueError("why")


def test_program_without_user_code_has_no_lines(monkeypatch):
    monkeypatch.chdir("/")
    try:
        fail()
    except ValueError as error:
        reported = describe("", error)

    assert (reported.exception, reported.message, reported.frames) == ("ValueError", "why", ())


@pytest.mark.parametrize(
    ("line", "installed"),
    [
        ("os.makedirs('a.txt/b/c')", False),
        ("os.path.join(None, 'a')", False),
        ("shutil.copy('none', 'b')", False),
        ("json.loads('{')", False),
        ("broken.fail()", True),
        ("exec('1 / 0')", False),
    ],
)
def test_innermost_frame_is_line_of_script(tmp_path, monkeypatch, line, installed):
    packages = tmp_path / "venv" / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "broken.py").write_text("def fail():\n    raise ValueError('why')\n")
    (tmp_path / "a.txt").write_text("")
    script = tmp_path / "train.py"
    imports = "import json, os, shutil\n" + ("import broken\n" if installed else "\n")
    script.write_text(f"{imports}def save():\n    {line}\nsave()\n")
    monkeypatch.chdir(tmp_path)  # a name such as '<frozen os>' would be a file of this folder
    monkeypatch.syspath_prepend(packages)
    linecache.clearcache()

    try:
        exec(compile(script.read_text(), str(script), "exec"), {"__name__": "__main__"})
    except Exception as error:
        failure = describe(str(tmp_path), error)

    assert failure.where == Frame("train.py", 4, "save", line)
    assert [frame.line for frame in failure.frames] == [5, 4]


OWN_MODULE = Path(danlu_runtime.__file__).with_name("a_module_with_a_mistake.py")


def raised_by(text, **names):
    """Run a function ``f`` of a module of Danlu, and return the error that it raises."""
    names |= {"__name__": "danlu_runtime.a_module"}
    exec(compile(text, str(OWN_MODULE), "exec"), names)
    try:
        names["f"]()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    "text",
    [
        "def f(): return None.shape",
        "def f(): return {}['x']",
        "def f(): return [][0]",
        "def f(): return undefined",
        "def f(x=None): return x()",
        "def f(): assert f is None",
        "def f():\n    from danlu.job import nothing_like_it",
    ],
)
def test_an_unintended_error_of_danlu_keeps_its_traceback(text):
    error = raised_by(text)

    fault = own_fault(error)

    assert fault.startswith("Traceback (most recent call last):\n")
    assert str(OWN_MODULE) in fault
    assert describe("", error, fault).traceback == fault


@pytest.mark.parametrize(
    "text",
    [
        "def f(): raise TypeError('give a list')",
        "def f(): raise AssertionError('Export directory already exists.')",
        "def f(): open('/not/there')",
        "def f(): int('abc')",
        "def f(): import nothing_of_that_name",
        "def f(): raise SystemExit(1)",
        "def f(): given()",
        "def f(): model_fn(1)",
        "class A:\n    def __getattr__(self, name): return getattr(1, name)\ndef f(): A().x",
    ],
)
def test_an_error_of_the_script_is_not_danlus(text):
    def given():
        return None.shape

    def model_fn():
        pass

    assert own_fault(raised_by(text, given=given, model_fn=model_fn)) == ""
