"""Python 2 files do what Python 2 did; the values were taken from Python 2.7.18."""

import pytest

from danlu_runtime.repair import python2_names
from danlu_runtime.repair.python2_tree import NAMES
from danlu_runtime.repair.rewrite import repair_source

SCRIPT = """
import sys
import urllib2, cPickle, ConfigParser, Queue, StringIO, commands, urlparse, __builtin__
reload(sys)
sys.setdefaultencoding("utf-8")

class Ratio:
    def __init__(self, n):
        self.n = n
    def __div__(self, other):
        return "div %d" % other

def unpack((a, b), c):
    return a + b + c

d = {"a": 1}
print "print", 7 / 2, -7 / 2, 7.0 / 2, 7 // 2
print >>sys.stdout, "chevron"
print "tail",
print "end"
print d.keys()[0], d.has_key("a"), sorted(d.iteritems()), [v for v in d.itervalues()]
print 0777, 10L, 1 <> 2, `1 + 1`
try:
    raise ValueError, "message"
except (ValueError, KeyError), error:
    print error
exec "x = 5"
print x, unpack((1, 2), 3), map(lambda n: n * 2, [1, 2])[1], zip([1], [2])[0], filter(None, [0, 1])
print [n for n in xrange(3)], unicode("u"), isinstance("s", basestring), long(3), unichr(97)
print reduce(lambda a, b: a + b, [1, 2, 3]), cmp(1, 2), sorted([1, 3, 2], cmp=lambda a, b: b - a)
numbers = [1, 3, 2]
numbers.sort(lambda a, b: cmp(b, a))
print numbers, round(2.5), round(-0.5), "text".decode("utf-8"), Ratio(1) / 3
total = 7
total /= 2
print total, sys.maxint > 2 ** 40, StringIO.StringIO("io").read(), urlparse.urlparse("http://h/").netloc
print commands.getoutput("echo shell"), cPickle.loads(cPickle.dumps([1])), Queue.Queue().empty()
"""
PRINTED = """print 3 -4 3.5 3
chevron
tail end
a True [('a', 1)] [1]
511 10 True 2
message
5 6 4 (1, 2) [1]
[0, 1, 2] u True 3 a
6 -1 [3, 2, 1]
[3, 2, 1] 3.0 -1.0 text div 3
3 True io h
shell [1] True
"""


def test_a_whole_python_2_script(task):
    assert task.run(SCRIPT) == PRINTED

    repaired = task.notes("repaired")
    lines = sum(line.startswith("print") for line in SCRIPT.split("\n")) + 1  # one is indented
    text = f"Python 2: print statement read as print(…) (on {lines} lines, here first)"
    assert ("train.py", 17, text) in repaired
    text = "two whole numbers were divided to a whole number, as in Python 2"
    assert ("train.py", 17, text) in repaired
    assert ("train.py", 3, "import cPickle read as pickle") in task.notes("mapped")


def test_a_traceback_shows_the_lines_of_the_file(task):
    task.write(
        "train.py",
        "def f((a, b)):\n    print a\n    raise ValueError, 'no'\n\nprint 'go'\nf((1, 2))\n",
    )

    done = task.python("train.py")

    assert done.returncode == 1
    assert '  File "train.py", line 6, in <module>\n    f((1, 2))\n' in done.stderr
    assert "\", line 3, in f\n    raise ValueError, 'no'\n" in done.stderr
    assert "danlu_runtime" not in done.stderr


def test_division_is_left_alone_on_request(task):
    assert task.run("from __future__ import division\nprint 7 / 2\n") == "3.5\n"


@pytest.mark.parametrize(
    "evidence",
    [
        "for i in xrange(1): pass",
        "import cPickle",
        "{}.has_key(1)",
        "import sys; sys.maxint",
        "import sys; print >>sys.stderr, 'x'",
        "list({}.iteritems()); list({}.itervalues())",
    ],
)
def test_file_that_compiles_is_python_2_on_proof(task, evidence):
    assert task.run(f"{evidence}\nx = 7\nx /= 2\nprint(x)\n") == "3\n"


@pytest.mark.parametrize(
    "script",
    [
        "try:\n    xrange\nexcept NameError:\n    xrange = range\nprint(7 / 2)\n",
        "try:\n    import cPickle\nexcept ImportError:\n    import pickle\nprint(7 / 2)\n",
        "from six.moves import xrange\nlist(xrange(2))\nprint(7 / 2)\n",
        "import sys\nif sys.version_info[0] > 2:\n    unicode = str\nprint(7 / 2)\n",
        "def f(unicode):\n    return unicode\nprint(7 / 2)\n",
        "def unused():\n    return xrange(3)\nprint(f'{7 / 2}')\n",
        "def unused():\n    return xrange(3)\nprint(7 / 2, end='\\n')\n",
        "def unused(d):\n    return d.iteritems()\nprint(7 / 2)\n",
    ],
)
def test_file_for_python_3_divides_as_python_3(task, script):
    assert task.run(script) == "3.5\n"


def test_python_2_names_in_python_3_file_work(task):
    script = """
    d = {'a': 1}
    print(f'{[k for k, _ in d.iteritems()]} {d.has_key("a")} {list(xrange(2))}')
    """

    assert task.run(script) == "['a'] True [0, 1]\n"
    assert ("train.py", 3, "Python 2: d.has_key(k) read as `k in d`") in task.notes("repaired")


def test_a_method_of_the_users_own_is_called(task):
    script = """
    class Table(object):
        def iteritems(self):
            return iter(['mine'])
        def has_key(self, key):
            return 'mine too'
    t = Table()
    print(list(t.iteritems()), t.has_key(1))
    for i in xrange(1): pass
    """

    assert task.run(script) == "['mine'] mine too\n"


def test_arrays_of_whole_numbers_divide_to_whole_numbers(task):
    script = """
    import numpy as np
    a = np.array([7, 9])
    b = a
    b /= 2
    print a, np.array([7.0]) / 2, np.int64(7) / 2, np.array([7]) / np.array([2])
    """

    assert task.run(script) == "[3 4] [3.5] 3 [3]\n"


def test_division_is_reported_once_if_inexact(task):
    task.run("for i in xrange(6):\n    x = i / 3\nprint 6 / 3\n")

    divided = [note for note in task.notes("repaired") if "divided" in note[2]]
    assert divided == [
        ("train.py", 2, "two whole numbers were divided to a whole number, as in Python 2")
    ]


def test_without_fissix_the_extra_is_named(task, tmp_path):
    hidden = tmp_path / "hidden/fissix"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('hidden', name='fissix')\n")
    task.write("train.py", "import old\n")
    task.write("old.py", "print 'x'\n")
    path = task.python("-c", "import os; print(os.environ['PYTHONPATH'])").stdout.strip()

    done = task.python("train.py", PYTHONPATH=f"{path}:{hidden.parent}")

    assert "This is Python 2: install danlu[tf], which brings fissix" in done.stderr
    assert "print 'x'" in done.stderr


def test_execfile_runs_a_file_in_the_callers_names(task):
    task.write("settings.py", "print 'settings'\nrate = 7 / 2\n")

    assert task.run("execfile('settings.py')\nprint rate\n") == "settings\n3\n"


def test_print_function_and_print_statement_are_distinguished():
    future = repair_source(
        b"from __future__ import print_function\nprint('a', file=None)\nx = 0777\n", "x.py"
    )

    assert [finding.text for finding in future.findings] == [
        "Python 2: whole numbers such as 0755 and 10L read as 0o755 and 10"
    ]


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [(7, 2, 3), (-7, 2, -4), (7, 2.0, 3.5), (True, 2, 0), (7 + 0j, 2, 3.5 + 0j)],
)
def test_numbers_divide_as_in_python_2(left, right, result):
    assert python2_names.divide(left, right) == result


@pytest.mark.parametrize(
    ("number", "rounded"), [(2.5, 3.0), (-2.5, -3.0), (0.5, 1.0), (2.4, 2.0), (3, 3.0)]
)
def test_halves_are_rounded_away_from_zero(number, rounded):
    assert python2_names.round_half_up(number) == rounded


def test_every_name_of_python2_is_read_and_reported():
    for name in sorted(NAMES):
        repaired = repair_source(f"x = {name}\ny = f'python 3'\n".encode(), "x.py")

        assert [finding.line for finding in repaired.findings] == [1], name
        assert callable(getattr(python2_names, name))


def test_codecs_from_bytes_to_bytes_give_texts(task):
    script = r"""
    print 'ff41'.decode('hex') == '\xffA', 'A\xff'.encode('hex'), 'YQ=='.decode('base64')
    print repr('a'.encode('base64')), 'a' * 9 == ('a' * 9).encode('zlib').decode('zlib')
    print 'Uryyb'.decode('rot13'), 'Hello'.encode('rot13'), repr('a\\tb'.decode('string_escape'))
    print repr('a\tb\xe9'.encode('string_escape')), int('10'.encode('hex_codec'), 16)
    print 'text'.decode('utf-8'), 'text'.encode('utf-8').decode('utf-8')
    """

    assert task.run(script) == (
        "True 41ff a\n'YQ==\\n' True\nHello Uryyb 'a\\tb'\n'a\\\\tb\\\\xe9' 12592\ntext text\n"
    )


@pytest.mark.parametrize(
    ("value", "codec", "text"),
    [
        ("ff", "hex", "\xff"),
        (b"ff", "hex", "\xff"),
        ("YQ==", "BASE64", "a"),
        ("nO", "rot-13", "aB"),
    ],
)
def test_codec_is_found_by_any_of_its_names(value, codec, text):
    assert python2_names.decode(value, codec) == text
    assert python2_names.decode(value, encoding=codec) == text


def test_text_is_encoded_like_its_source():
    assert python2_names.encode("丹", "hex") == "e4b8b9"


def test_object_with_encoder_of_its_own_is_asked():
    class Tokenizer:
        def encode(self, text):
            return [len(text)]

    assert python2_names.encode(Tokenizer(), "hex") == [3]


def test_objects_are_compared_by_the_classes_own_cmp(task):
    script = """
    import heapq
    class Node(object):
        def __init__(self, cost):
            self.cost = cost
        def __cmp__(self, other):
            return cmp(self.cost, other.cost)
    class Same(Node):
        def __eq__(self, other):
            return 'own'
        def __cmp__(self, other):
            return cmp(other.cost, self.cost)
    one, two = Node(1), Node(2)
    print one < two, one <= two, one == Node(1), one != two, one > two, one >= two, cmp(two, one)
    print [n.cost for n in sorted([two, one])], max(one, two).cost, len(set([one, two]))
    heap = []
    heapq.heappush(heap, two); heapq.heappush(heap, one)
    print heapq.heappop(heap).cost, Same(1) < Same(2), Same(1) == Same(2)
    """

    assert task.run(script) == ("True True True True False False 1\n[1, 2] 2 2\n1 False own\n")
