"""Modules of the user's, and programs the script starts, are repaired; others are not."""

import pytest


def test_a_module_and_a_package_are_repaired(task):
    task.write("net.py", "print 'net'\n")
    task.write("lib/__init__.py", "print 'lib'\n")
    task.write("lib/deep.py", "depth = 7 / 2\nprint 'deep'\n")

    assert task.run("import net, lib.deep\nprint(lib.deep.depth)\n") == "net\nlib\ndeep\n3\n"
    assert ("lib/deep.py", 2, "Python 2: print statement read as print(…)") in task.notes()


def test_an_installed_package_is_not_repaired(task):
    task.write("site-packages/old.py", "print 'old'\n")
    task.write("train.py", "import sys; sys.path.append('site-packages')\nimport old\n")

    done = task.python("train.py")

    assert "SyntaxError: Missing parentheses in call to 'print'" in done.stderr


def test_bytecode_is_kept_for_unrepaired_modules_only(task):
    task.write("good.py", "x = 1\n")
    task.write("old.py", "print 'x'\n")
    task.write("signed.py", "from six.moves import xrange\n")

    task.run("import good, old, signed\n")

    kept = {path.name.partition(".")[0] for path in task.code.glob("__pycache__/*.pyc")}
    assert kept == {"good", "signed"}


def test_bytecode_of_plain_python_does_not_hide_repair(task):
    task.write("net.py", "def f(d):\n    return list(d.iteritems())\n")
    task.write("train.py", "import net\n")
    assert task.python("-I", "train.py").returncode == 1  # isolated: net is not found
    task.python("-c", "import compileall; compileall.compile_dir('.', quiet=1)")

    assert task.run("import net\nprint(net.f({1: 2}))\n") == "[(1, 2)]\n"


def test_source_is_shown_as_it_is_in_file(task):
    task.write("net.py", "def f(x):\n    print x\n")

    out = task.run("import inspect, net\nprint(inspect.getsource(net.f))\n")

    assert out == "def f(x):\n    print x\n\n"


def test_lines_of_a_file_in_gbk_are_shown(task):
    task.write("train.py", "x = 1\nraise ValueError('损失')  # 损失\n".encode("gbk"))

    done = task.python("train.py")

    assert "raise ValueError('损失')  # 损失" in done.stderr
    assert "ValueError: 损失" in done.stderr
    assert task.notes("repaired") == [
        ("train.py", 2, "the file is not UTF-8: read as GBK (gb18030)")
    ]


def test_module_beside_file_is_found_as_python2_did(task):
    task.write("trainer/__init__.py", "")
    task.write("trainer/network.py", "name = __name__\n")
    task.write("trainer/layers/__init__.py", "")
    task.write("trainer/layers/dense.py", "name = __name__\n")
    task.write(
        "trainer/task.py",
        """
        import network
        import layers.dense
        from trainer import network as same
        from trainer.layers import dense
        print(network.name, network is same, layers.dense.name, layers.dense is dense)
        """,
    )

    done = task.python("-m", "trainer.task")

    assert done.stdout == "trainer.network True trainer.layers.dense True\n", done.stderr
    assert task.notes("repaired")[0] == (
        "trainer/task.py",
        2,
        "`import network` found trainer.network beside the file, as Python 2 did",
    )


def test_module_that_is_nowhere_is_refused_as_ever(task):
    task.write("train.py", "import netwrok\n")

    done = task.python("train.py")

    assert done.stderr.endswith("ModuleNotFoundError: No module named 'netwrok'\n")


def test_a_program_the_script_starts_is_repaired(task):
    task.write("other.py", "import sys\nprint 'other', sys.argv, sys.path[0], __name__, __file__\n")

    out = task.run(
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-u', 'other.py', 'a b', '-x'],"
        " capture_output=True, text=True).stdout)\n"
    )

    assert out == f"other ['other.py', 'a b', '-x'] {task.code} __main__ other.py\n\n"


def test_a_module_the_script_starts_is_repaired(task):
    task.write("pkg/__init__.py", "")
    task.write("pkg/task.py", "print 'task', __package__\n")

    done = task.python("-m", "pkg.task")

    assert done.stdout == "task pkg\n"


def test_spawned_workers_run_the_repaired_script(task):
    script = """
    import multiprocessing
    def half(n):
        return n / 2
    if __name__ == '__main__':
        pool = multiprocessing.get_context('spawn').Pool(1)
        print pool.map(half, [3, 5])
        pool.close()
        pool.join()
    """

    assert task.run(script) == "[1, 2]\n"
    printed = [note for note in task.notes() if "print statement" in note[2]]
    assert len(printed) == 1


def test_a_program_without_need_is_not_started_again(task):
    out = task.run("import sys\nprint(sys.orig_argv[1:])\n")

    assert out == "['train.py']\n"


def test_own_file_is_not_hidden_by_repair_module(task):
    for name in ("token", "ast", "difflib", "logging", "tokenize"):
        task.write(f"{name}.py", f"mine = {name!r}\n")

    out = task.run("import token, ast, difflib, logging\nprint 7 / 2, token.mine, logging.mine\n")

    assert out == "3 token logging\n"


@pytest.mark.parametrize(
    ("script", "line", "text"),
    [
        ("x = 1\ny = = 2\n", 2, "invalid syntax"),
        ("def f():\n    reutrn 3\n", 2, "invalid syntax. Did you mean 'return'?"),
        ("print 'a'\ndef f():\n    reutrn 3\n", 3, "invalid syntax. Did you mean 'return'?"),
        ("x = f（1）\ny = = 2\n", 2, "invalid syntax"),
        ("if x:\ny = 1\n", 2, "expected an indented block"),
    ],
)
def test_unrepairable_line_is_reported_at_its_place(task, script, line, text):
    task.write("net.py", script)
    task.write("train.py", "import net\n")

    done = task.python("train.py")

    shown = script.split("\n")[line - 1].strip()
    assert f'net.py", line {line}\n    {shown}\n' in done.stderr
    assert f"Error: {text}" in done.stderr
    assert task.notes() == []


def test_the_error_is_the_one_python_gives(task):
    for script in ("x = (1,\n", "return 3\n", "x = 'a\n", "f(a=1, 2)\n", "None = 1\n"):
        path = task.write("train.py", script)
        with pytest.raises(SyntaxError) as plain:
            compile(script, str(path), "exec")

        done = task.python("train.py")

        assert done.stderr.rstrip().endswith(f"{plain.type.__name__}: {plain.value.msg}")


def test_tabs_full_width_and_python_2_mix(task):
    script = "def f(x)：\n        if x:\n\t\tprint 'deep'，x\n        return 7 / 2\nprint f(1)\n"

    assert task.run(script) == "deep 1\n3\n"


def test_python2_is_read_where_home_cannot_be_written(task, tmp_path):
    (tmp_path / "a file").write_text("")
    home = str(tmp_path / "a file" / "home")

    assert task.run("print 3 / 2", HOME=home, XDG_CACHE_HOME="") == "1\n"
