"""One concern each: encodings, full-width marks, tabs, strings, line numbers."""

import ast
import codecs

import pytest

from danlu_runtime.repair import rewrite
from danlu_runtime.repair import text as fullwidth
from danlu_runtime.repair import text as tabs
from danlu_runtime.repair.rewrite import nearest_keyword


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("损失 = 1\n".encode(), "损失 = 1\n"),
        (codecs.BOM_UTF8 + b"x = 1\r\ny = 2\r", "x = 1\ny = 2\n"),
        ("# coding: gbk\ns = '损失'\n".encode("gbk"), "# coding: gbk\ns = '损失'\n"),
        ("#!/x\n# -*- coding: latin-1 -*-\ns = 'é'\n".encode("latin-1"), None),
    ],
)
def test_what_python_reads_is_read_without_a_word(data, text):
    assert rewrite.decode(data) == (text or data.decode("latin-1"), [])


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ("x = 1\ns = '损失'\n".encode("gbk"), 2, "not UTF-8: read as GBK"),
        ("# coding: utf-8\ns = '损失'\n".encode("gbk"), 2, "not UTF-8: read as GBK"),
        ("s = '损失'\n".encode("utf-16"), 1, "UTF-16"),
        (b"# coding: utf8mb4\ns = 1\n", 1, "'utf8mb4' is unknown"),
        (b"s = 1\n\x1a", 2, "DOS end mark"),
    ],
)
def test_what_windows_editors_write_is_reported(data, line, message):
    text, (finding,) = rewrite.decode(data)

    assert "s = " in text
    assert finding.line == line
    assert message in finding.text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("f（1，2）", "f(1,2)"),
        ("x＝【1；2】", "x=[1;2]"),
        ("if x：", "if x:"),
        ("x =\u3000１２．５", "x = 12.5"),
        ("print(‘a，b’)", "print('a，b')"),
        ("print(“it's”)", 'print("it\'s")'),
        ("tf.constant('a’)", "tf.constant('a')"),
        ("x ！＝ y", "x != y"),
        ("x = 1 ＃ 损失，", "x = 1 # 损失，"),
        ("a\u200bb = 1", "ab = 1"),
    ],
)
def test_chinese_punctuation_is_read_as_ascii(written, read):
    text, (finding,) = fullwidth.to_plain(f"\n{written}\n")

    assert text == f"\n{read}\n"
    assert finding.line == 2


def test_strings_and_comments_keep_their_marks():
    text = "s = '，'  # （\nt = '''\n，\n''' + \"\\\"，\" + r'\\'\n"

    assert fullwidth.to_plain(text) == (text, [])


def test_a_finding_names_the_mark():
    _, (finding,) = fullwidth.to_plain("f(1，\u3000 2，3)")

    assert finding.text == "， (U+FF0C) read as ,, U+3000 read as a space"


def test_tabs_of_indentation_become_spaces_and_no_others():
    text = "if x:\n\ty = '\t'\n  \tz = '''\n\tinside'''\n"

    assert tabs.expand(text, 8) == ("if x:\n        y = '\t'\n        z = '''\n\tinside'''\n")


def test_nodes_keep_lines_of_file_they_came_from():
    old = "def f((a, b)):\n    print a\n    return b\nf(1)"
    new = "def f(t):\n    a, b = t\n    print(a)\n    return b\nf(1)"
    tree = ast.parse(new)

    rewrite.keep(tree, old, new)

    body = tree.body[0].body
    assert [node.lineno for node in body[1:]] == [2, 3]
    assert tree.body[1].lineno == 4


def _judge(text):
    try:
        ast.parse(text)
    except SyntaxError as error:
        return error.lineno
    return 0


@pytest.mark.parametrize(
    ("line", "keyword"),
    [
        ("    reutrn x", "return"),
        ("    retrun x", "return"),
        ("    improt os", "import"),
        ("    form os import path", "from"),
        ("    for i ni x: pass", "in"),
        ("    Return x", "return"),
        ("    x = = 1", ""),
        ("    x = (1", ""),
    ],
)
def test_the_keyword_that_cures_the_line_is_found(line, keyword):
    assert nearest_keyword(f"def f(x):\n{line}\n", 2, _judge) == keyword
