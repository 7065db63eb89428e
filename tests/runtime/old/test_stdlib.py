"""What Python's own library has lost, for the user's files; libraries do not see all of it."""

import py_compile
import sys

import pytest

from danlu_runtime.old import image_kind, imp_names
from danlu_runtime.old.distutils import dir_util, file_util, spawn, util, version


def test_names_of_python_2_modules(task):
    script = """
    import base64, collections, fractions, inspect, itertools, os, platform, string, sys, time
    import types, urllib
    print(time.clock() >= 0, issubclass(dict, collections.Mapping), fractions.gcd(4, 6))
    print(inspect.getargspec(lambda a, b=1, *c, **d: 0))
    print(base64.encodestring(b'a'), base64.decodestring(b'YQ=='))
    print(len(platform.linux_distribution()), 'ab'.translate(string.maketrans('a', 'b')))
    print(sys.maxint == sys.maxsize, sys.setdefaultencoding('utf-8'), os.getcwdu() == os.getcwd())
    print(list(itertools.izip([1], [2])), list(itertools.imap(str, [1])), string.letters[:2])
    print(string.join(['a', 'b'], '-'), string.upper('a'), isinstance('s', types.StringType))
    print(os.errno.ENOENT, urllib.urlencode({'a': 1}), urllib.quote(' '))
    """

    assert task.run(script).splitlines() == [
        "True True 2",
        "ArgSpec(args=['a', 'b'], varargs='c', keywords='d', defaults=(1,))",
        "b'YQ==\\n' b'a'",
        "3 bb",
        "True None True",
        "[(1, 2)] ['1'] ab",
        "a-b A True",
        "2 a=1 %20",
    ]
    assert ("train.py", 4, "time.clock read as time.process_time") in task.notes("mapped")


def test_modules_of_python_2(task):
    script = """
    import ConfigParser, HTMLParser, Queue, SocketServer, StringIO, __builtin__, cPickle, commands
    import cStringIO, copy_reg, httplib, md5, thread, urllib2, urlparse, Image
    parser = ConfigParser.SafeConfigParser()
    parser.readfp(StringIO.StringIO('[a]\\nb = 1\\n'))
    print(parser.get('a', 'b'), cStringIO.StringIO(b'x').read(), __builtin__.len('ab'))
    print(md5.new('a').hexdigest()[:4], commands.getstatusoutput('echo 1'), thread.get_ident() > 0)
    print(urllib2.Request('http://h/p').get_full_url(), urllib2.HTTPError.__mro__[1].__name__)
    """

    assert task.run(script).splitlines() == [
        "1 b'x' 2",
        "0cc1 (0, '1') True",
        "http://h/p URLError",
    ]
    assert ("train.py", 2, "import Queue read as queue") in task.notes("mapped")


def test_library_still_learns_that_it_runs_on_python3(task):
    task.write(
        "site-packages/lib.py",
        """
        import itertools, sys
        try:
            import urllib2
            found = 2
        except ImportError:
            found = 3
        old = hasattr(itertools, 'izip') or hasattr(sys, 'maxint')
        """,
    )
    script = "import sys; sys.path.append('site-packages')\nimport lib\nprint(lib.found, lib.old)\n"

    assert task.run(script) == "3 False\n"


def test_module_of_users_with_old_name_is_users(task):
    task.write("Queue.py", "mine = True\n")
    task.write("platform.py", "mine = True\n")

    assert task.run("import Queue, platform\nprint(Queue.mine, platform.mine)\n") == "True True\n"


def test_pickles_of_python_2_are_read(task):
    # pickle.dumps({'name': '\\xe9'}, 2) of Python 2.7
    task.write("a.pkl", b"\x80\x02}q\x00U\x04nameq\x01U\x01\xe9q\x02s.")
    script = """
    import pickle, cPickle
    print(pickle.load(open('a.pkl', 'rb')), cPickle.load(open('a.pkl', errors='replace')))
    print(pickle.loads(open('a.pkl', 'rb').read()))
    """

    assert task.run(script) == "{'name': 'é'} {'name': 'é'}\n{'name': 'é'}\n"
    text = "a pickle of Python 2 was read with encoding='latin1'"
    assert ("train.py", 3, text) in task.notes("mapped")


def test_an_encoding_that_was_asked_for_is_kept(task):
    task.write("a.pkl", b"\x80\x02U\x01\xe9q\x00.")

    out = task.run("import pickle\nprint(pickle.load(open('a.pkl', 'rb'), encoding='bytes'))\n")

    assert out == "b'\\xe9'\n"


@pytest.mark.parametrize(
    ("small", "large"), [("1.9.0", "1.10.0"), ("1.4", "1.15.5"), ("1.0rc1", "1.0rc2"), ("1", "1.0")]
)
def test_versions_compare_by_their_numbers(small, large):
    assert version.LooseVersion(small) < version.LooseVersion(large)
    assert version.LooseVersion(large) >= small


def test_a_preview_comes_before_its_release():
    assert version.StrictVersion("1.2a1") < version.StrictVersion("1.2b1") < "1.2"
    with pytest.raises(ValueError, match=r"invalid version number '1\.2\.x'"):
        version.StrictVersion("1.2.x")


def test_the_rest_of_distutils(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x").write_text("1")

    assert util.strtobool("Yes") == 1
    assert dir_util.mkpath(str(tmp_path / "b/c")) == [str(tmp_path / "b"), str(tmp_path / "b/c")]
    assert dir_util.copy_tree(str(tmp_path / "a"), str(tmp_path / "b")) == [str(tmp_path / "b/x")]
    assert file_util.copy_file(str(tmp_path / "a/x"), str(tmp_path / "y"))[0] == str(tmp_path / "y")
    assert file_util.move_file(str(tmp_path / "y"), str(tmp_path / "z")) == str(tmp_path / "z")
    assert (tmp_path / "z").read_text() == "1"
    assert not (tmp_path / "y").exists()
    with pytest.raises(OSError, match="not a directory"):
        dir_util.copy_tree(str(tmp_path / "z"), str(tmp_path / "b"))
    dir_util.remove_tree(str(tmp_path / "a"))
    assert not (tmp_path / "a").exists()
    assert spawn.find_executable("sh")


def test_imp_loads_files(tmp_path):
    (tmp_path / "settings_of_a_test.py").write_text("rate = 3\n")

    loaded = imp_names.load_source("settings_of_a_test", str(tmp_path / "settings_of_a_test.py"))
    file, path, details = imp_names.find_module("settings_of_a_test", [str(tmp_path)])
    file.close()
    again = imp_names.load_module("settings_of_a_test", None, path, details)
    del sys.modules["settings_of_a_test"]

    assert (loaded.rate, again.rate, details[2]) == (3, 3, imp_names.PY_SOURCE)


def test_imp_loads_packages_and_compiled_files(tmp_path, monkeypatch):
    (tmp_path / "package_of_a_test").mkdir()
    (tmp_path / "package_of_a_test/__init__.py").write_text("kind = 'package'\n")
    (tmp_path / "source.py").write_text("kind = 'compiled'\n")
    compiled = str(tmp_path / "compiled_of_a_test.pyc")
    py_compile.compile(str(tmp_path / "source.py"), compiled)
    for name in ("package_of_a_test", "compiled_of_a_test"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    found = imp_names.find_module("package_of_a_test", [str(tmp_path)])
    package = imp_names.load_module("package_of_a_test", *found)
    file, *found = imp_names.find_module("compiled_of_a_test", [str(tmp_path)])
    file.close()
    module = imp_names.load_module("compiled_of_a_test", None, *found)

    assert (package.kind, module.kind) == ("package", "compiled")
    assert sys.modules["package_of_a_test"] is package
    suffixes = {(suffix, kind) for suffix, _, kind in imp_names.get_suffixes()}
    assert {(".py", imp_names.PY_SOURCE), (".pyc", imp_names.PY_COMPILED)} <= suffixes


def test_imp_leaves_nothing_of_a_file_that_fails(tmp_path):
    (tmp_path / "failing_of_a_test.py").write_text("raise KeyError('here')\n")

    with pytest.raises(KeyError, match="here"):
        imp_names.load_source("failing_of_a_test", str(tmp_path / "failing_of_a_test.py"))
    assert "failing_of_a_test" not in sys.modules
    with pytest.raises(ImportError, match="No module named 'nowhere_of_a_test'"):
        imp_names.find_module("nowhere_of_a_test", [str(tmp_path)])


@pytest.mark.parametrize(
    ("head", "kind"),
    [(b"\xff\xd8\xff\xe0", "jpeg"), (b"\x89PNG\r\n\x1a\n", "png"), (b"RIFF1234WEBP", "webp")],
)
def test_the_kind_of_an_image(head, kind, tmp_path):
    (tmp_path / "a").write_bytes(head)

    assert image_kind.what(tmp_path / "a") == kind
    assert image_kind.what(None, b"text") is None
