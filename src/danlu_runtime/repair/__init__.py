"""Reads the user's own files as they were meant: Python 2, full-width marks, tabs, old imports.

A file that compiles and shows no sign of an older Python is left alone and costs nothing more.
Files outside the user's code are never repaired. What was repaired is noted with file and line;
a syntax error that nothing repairs is raised as Python itself raises it.
"""

from __future__ import annotations

import os

from danlu_runtime import apart, own_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

# A file without any of these, that compiles, has nothing to repair. Each is a reason to look only.
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
    """Compile a file of Python; one of the user's own is repaired where it must be.

    Raises:
        SyntaxError: of the text as it is in the file, when nothing repairs it.
    """
    mended = compile_mended(data, path) if own_code.contains(path) else None
    if mended is not None:
        return mended
    return compile(data, path, "exec", dont_inherit=True)


def compile_mended(data: bytes, path: str) -> CodeType | None:
    """Return the program of a file that needed repair, None for one that is right as it is.

    Raises:
        SyntaxError: of the text as it is in the file, when nothing repairs it.
    """
    if not any(sign in data for sign in SIGNS):
        try:
            compile(data, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):  # ValueError: null bytes, before Python 3.12
            pass
        else:
            return None
    return _mend(data, path)


def mended_file(path: str) -> CodeType | None:
    """Like ``compile_mended``, for a file of the user's; None for any other file."""
    whole = os.path.abspath(path)
    if not own_code.contains(whole):
        return None
    with open(whole, "rb") as file:
        return compile_mended(file.read(), whole)


def _mend(data: bytes, path: str) -> CodeType | None:
    program: CodeType | None = apart.load("danlu_runtime.repair.program").program(data, path)
    return program
