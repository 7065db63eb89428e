"""Repairs the user's own files: Python 2, full-width characters, tabs, old imports.

A file that compiles and shows no sign of Python 2 is not changed. Files outside the user's code are
never repaired. Each repair is noted with file and line. A syntax error that no repair corrects is
raised as Python raises it.

``program``: compiles a file that may need repair.
``loader``, ``main``, ``run``: repair imported modules, and programs that the script starts.
``rewrite``, ``text``: choose the repairs; find strings, comments, tabs and full-width characters.
``python2``, ``python2_tree``, ``python2_names``: convert Python 2; functions for its built-ins.
``keras_imports``: imports of ``tensorflow.python.keras``.
"""

from __future__ import annotations

import os

from danlu_runtime.start import own_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

# A file that compiles and has none of these needs no repair. Each is only a reason for a check.
SIGNS = (
    *(b"xrange", b"iteritems", b"itervalues", b"iterkeys", b"has_key", b"unicode", b"basestring"),
    *(
        b"raw_input",
        b"unichr",
        b"execfile",
        b"long(",
        b"long)",
        b"long,",
        b" reduce(",
        b"=reduce(",
        b"(reduce(",
        b"[reduce(",
        b"file(",
        b"cmp",
        b"reload",
    ),
    *(b"maxint", b"urllib2", b"urlparse", b"cPickle", b"ConfigParser", b"Queue", b"StringIO"),
    *(b"commands", b"__builtin__", b"getcwdu", b"izip", b"imap", b"ord(", b"tensorflow.python"),
    *(
        b".python.keras",
        b"setdefaultencoding",
        b"string.letters",
        b"httplib",
        b"print >>",
        b"print>>",
    ),
    *(b" map(", b"=map(", b"(map(", b" filter(", b"=filter(", b"(filter("),
    *(b" zip(", b"=zip(", b"(zip("),
)


def compile_source(data: bytes, path: str) -> CodeType:
    """Compile a Python file; a user's file is repaired if needed.

    Raises:
        SyntaxError: the file cannot be repaired; the error has the user's original line.
    """
    repaired = compile_repaired(data, path) if own_code.contains(path) else None
    if repaired is not None:
        return repaired
    return compile(data, path, "exec", dont_inherit=True)


def compile_repaired(data: bytes, path: str) -> CodeType | None:
    """Return the program of a repaired file, None if the file needs no repair.

    Raises:
        SyntaxError: the file cannot be repaired; the error has the user's original line.
    """
    if not any(sign in data for sign in SIGNS):
        try:
            compile(data, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):  # ValueError: null bytes, before Python 3.12
            pass
        else:
            return None
    return _repair(data, path)


def compile_user_file(path: str) -> CodeType | None:
    """Like ``compile_repaired``, for a user's file; None for any other file."""
    whole = os.path.abspath(path)
    if not own_code.contains(whole):
        return None
    with open(whole, "rb") as file:
        return compile_repaired(file.read(), whole)


def _repair(data: bytes, path: str) -> CodeType | None:
    program: CodeType | None = own_code.import_isolated("danlu_runtime.repair.program").program(
        data, path
    )
    return program
