"""A script must find its process as ``python script.py`` would have left it."""

import dataclasses
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import danlu_runtime
from danlu.job.status import Frame
from danlu.taskdir.exchange_dir import FAILURE, LAUNCH, ExchangeDir, Launch

LAUNCHER = Path(danlu_runtime.__file__).with_name("launch.py")


class Stage:
    def __init__(self, folder: Path) -> None:
        self.code = folder / "code, 代码"
        self.code.mkdir()
        self.box = ExchangeDir(folder / "box")

    def write(self, name: str, text: str) -> Path:
        path = self.code / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def run(self, script, *args, module=False, sys_path=(), mapped=None, **env):
        run = script if module else str(self.write("train.py", script))
        self.box.write_launch(
            Launch(run, args, module, tuple(sys_path), str(self.code), mapped or {})
        )
        return subprocess.run(
            [sys.executable, str(LAUNCHER), str(self.box.folder)],
            capture_output=True,
            text=True,
            cwd=self.code,
            env={**os.environ, **env},
            check=False,
        )


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


def test_script_is_main_with_its_arguments_and_path(stage):
    done = stage.run(
        "import sys, json\nprint(json.dumps([__name__, __file__, sys.argv, sys.path[:2],"
        " sys.modules['__main__'].__dict__ is globals(), __package__, __spec__]))",
        "--lr=0.1",
        "",
        "a b;$(x)\n'\"",
        sys_path=("/extra",),
    )

    path = str(stage.code / "train.py")
    assert json.loads(done.stdout) == [
        *("__main__", path, [path, "--lr=0.1", "", "a b;$(x)\n'\""]),
        *([str(stage.code), "/extra"], True, None, None),
    ]
    assert done.returncode == 0
    assert stage.box.failure() is None


def test_a_module_is_run_as_python_does(stage):
    stage.write("trainer/__init__.py", "")
    stage.write("trainer/net.py", "name = 'net'")
    stage.write(
        "trainer/task.py",
        "import sys\nfrom . import net\nprint(__name__, __package__, net.name, sys.argv[1:])",
    )

    done = stage.run("trainer.task", "--x=1", module=True)

    assert done.stdout == "__main__ trainer net ['--x=1']\n"


def test_no_shadowable_standard_module_is_loaded(stage):
    show = "import sys\nprint(*sys.modules)"
    bare = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    done = stage.run(show)

    more = {name.split(".")[0] for name in set(done.stdout.split()) - set(bare.stdout.split())}
    # Those built into Python, and its JSON scanner, cannot be shadowed.
    assert more - set(sys.builtin_module_names) <= {"danlu", "danlu_runtime", "__future__", "_json"}


def test_own_module_precedes_module_of_python(stage):
    stage.write("secrets.py", "KEY = 'mine'")
    stage.write("json.py", "KEY = 'mine'")
    stage.write("dataclasses.py", "broken = ")
    done = stage.run(
        "import json, secrets\nassert json.KEY == secrets.KEY\nprint(secrets.KEY)\n"
        "raise ValueError(secrets.KEY)"
    )

    assert done.stdout == "mine\n"
    assert stage.box.failure().message == "mine"


def test_pickle_and_spawned_processes_find_the_script(stage):
    done = stage.run(
        """
        import multiprocessing, pickle
        class Point:
            pass
        def double(n):
            return 2 * n
        if __name__ == "__main__":
            assert type(pickle.loads(pickle.dumps(Point()))) is Point
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(double, [1, 2]))
        """
    )

    assert done.stdout == "[2, 4]\n", done.stderr


def test_a_traceback_looks_as_pythons_own(stage):
    script = """
        def f(n):
            return {}[n]
        try:
            f(1)
        except KeyError:
            f(2)
    """
    done = stage.run(script)
    plain = subprocess.run(
        [sys.executable, str(stage.code / "train.py")], capture_output=True, text=True, check=False
    )

    assert done.stderr == plain.stderr
    assert done.returncode == plain.returncode == 1


def test_a_misspelt_name_has_pythons_own_suggestion(stage):
    """The MoXing manual prints `os.enrivon.pop` in pitfall 2-3-1."""
    done = stage.run("import os\nos.enrivon.pop('http_proxy')\n")

    assert done.returncode == 1
    assert "has no attribute 'enrivon'. Did you mean: 'environ'?" in done.stderr
    assert stage.box.failure().frames[-1].line == 2


def test_frames_are_the_users_own_only(stage):
    stage.write("lib/net.py", "import json\ndef read(text):\n    return json.loads(text)\n")
    stage.run("from lib.net import read\n\nread('{')\n")

    failure = stage.box.failure()
    assert failure.exception == "JSONDecodeError"
    assert failure.frames == (
        Frame("train.py", 3, "<module>", "read('{')"),
        Frame("lib/net.py", 3, "read", "return json.loads(text)"),
    )


def test_a_syntax_error_is_found_where_it_is(stage):
    done = stage.run("x = 1\ny = = 2\n")

    failure = stage.box.failure()
    assert (failure.exception, failure.where.file, failure.where.line) == (
        *("SyntaxError", "train.py", 2),
    )
    assert failure.where.text == "y = = 2"
    assert "danlu" not in done.stderr


def test_a_python_2_script_runs(stage):
    done = stage.run("x = 7 / 2\nprint 'python', x\n")

    assert (done.returncode, done.stdout) == (0, "python 3\n")
    assert "[danlu] train.py:2: Python 2: print statement read as print(…)\n" in done.stderr


def test_a_syntax_error_in_an_imported_module(stage):
    stage.write("net.py", "a = 1\nb = = 2\n")
    stage.run("import net")

    assert [(f.file, f.line) for f in stage.box.failure().frames] == [
        ("train.py", 1),
        ("net.py", 2),
    ]


@pytest.mark.parametrize(
    ("script", "code", "error", "recorded"),
    [
        ("import sys; sys.exit()", 0, "", ""),
        ("import sys; sys.exit(0)", 0, "", ""),
        ("import sys; sys.exit(7)", 7, "", "7"),
        ("import sys; sys.exit('bad data')", 1, "bad data\n", "bad data"),
        ("import sys; sys.exit(False)", 0, "", ""),
        ("raise SystemExit", 0, "", ""),
    ],
)
def test_leaving_is_as_pythons_own(stage, script, code, error, recorded):
    done = stage.run(script)

    assert (done.returncode, done.stderr) == (code, error)
    failure = stage.box.failure()
    assert (failure.message if failure else "") == recorded


def test_an_interrupt_ends_with_130(stage):
    assert stage.run("raise KeyboardInterrupt").returncode == 130


def test_a_hook_of_the_users_own_is_called(stage):
    done = stage.run(
        "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\nraise ValueError"
    )

    assert (done.stdout, done.stderr, done.returncode) == ("hook ValueError\n", "", 1)
    assert stage.box.failure().exception == "ValueError"


def test_atexit_and_threads_are_waited_for(stage):
    done = stage.run(
        """
        import atexit, threading
        atexit.register(print, "bye")
        go = threading.Event()
        threading.Thread(target=lambda: (go.wait(10), print("thread"))).start()
        threading.Timer(0.05, go.set).start()
        raise ValueError
        """
    )

    assert done.stdout == "thread\nbye\n"
    assert done.returncode == 1


def test_forked_process_does_not_speak_for_script(stage):
    done = stage.run("import os\nif os.fork() == 0:\n    raise ValueError\nos.wait()")

    assert done.returncode == 0
    assert stage.box.failure() is None


@pytest.mark.parametrize(
    ("raising", "memory", "disk"),
    [
        ("MemoryError()", True, ""),
        ("OSError(12, 'Cannot allocate memory')", True, ""),
        ("RuntimeError('std::bad_alloc')", True, ""),
        ("type('ResourceExhaustedError', (Exception,), {})('OOM when allocating')", True, ""),
        ("OSError(28, 'No space left on device', '/cache/x')", False, "/cache/x"),
        (
            "type('ResourceExhaustedError', (Exception,), {})('/m.ckpt; No space left on device')",
            False,
            "/m.ckpt",
        ),
        ("ValueError('x')", False, ""),
    ],
)
def test_memory_and_disk_are_distinguished_from_other_failures(stage, raising, memory, disk):
    stage.run(f"raise {raising}")

    failure = stage.box.failure()
    assert (failure.out_of_memory, failure.disk_full) == (memory, disk)


def test_a_failure_behind_another_is_found(stage):
    stage.run("try:\n    raise MemoryError\nexcept MemoryError as e:\n    raise ValueError from e")

    assert stage.box.failure().out_of_memory


def test_a_recursion_without_end_is_recorded_in_part(stage):
    stage.run("def f():\n    f()\nf()")

    failure = stage.box.failure()
    assert failure.exception == "RecursionError"
    assert len(failure.frames) == 50
    assert failure.frames[0].line == 3


def test_an_exception_that_cannot_be_shown(stage):
    stage.run("class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E()")

    assert (stage.box.failure().exception, stage.box.failure().message) == ("E", "")


def test_a_script_that_is_not_there(stage):
    stage.box.write_launch(Launch("/nowhere/x.py", (), False, (), str(stage.code)))
    done = subprocess.run(
        [sys.executable, str(LAUNCHER), str(stage.box.folder)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "/nowhere/x.py" in stage.box.failure().message
    assert "launch.py" not in done.stderr


def test_names_here_and_in_box_are_same():
    """The launcher reads the box without importing it: nothing else holds the two together."""
    source = (LAUNCHER.parent / "start" / "program.py").read_text()

    assert all(f'launch["{field.name}"]' in source for field in dataclasses.fields(Launch))
    assert f'"{LAUNCH}"' in source
    assert FAILURE == "failure.json"


@pytest.mark.parametrize("encoding", ["gbk", "utf-8-sig", "latin-1"])
def test_a_source_in_another_encoding(stage, encoding):
    path = stage.code / "train.py"
    word = "é" if encoding == "latin-1" else "损失"
    cookie = "" if encoding == "utf-8-sig" else f"# -*- coding: {encoding} -*-\n"
    path.write_bytes(f"{cookie}print(len('{word}'))\n".encode(encoding))
    stage.box.write_launch(Launch(str(path), (), False, (), str(stage.code)))

    done = subprocess.run(
        [sys.executable, str(LAUNCHER), str(stage.box.folder)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == f"{len(word)}\n"
