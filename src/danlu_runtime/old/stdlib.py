"""Names that Python's standard modules have lost since 2.7."""

from __future__ import annotations

import sys

from danlu.messages import get_message
from danlu_runtime.old.names import mapped, put_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

# module -> old name -> current location. "module:" is the module itself.
_MOVED = {
    "base64": {"encodestring": "base64:encodebytes", "decodestring": "base64:decodebytes"},
    "cgi": {
        "escape": "danlu_runtime.old.cgi_names:escape",
        **{name: f"urllib.parse:{name}" for name in ("parse_qs", "parse_qsl")},
    },
    "collections": {
        name: f"collections.abc:{name}"
        for name in (
            *("Mapping", "MutableMapping", "Sequence", "MutableSequence", "Set", "MutableSet"),
            *("Iterable", "Iterator", "Callable", "Container", "Hashable", "Sized", "Generator"),
            *("KeysView", "ItemsView", "ValuesView", "MappingView", "ByteString", "Awaitable"),
            *("Coroutine", "AsyncIterable", "AsyncIterator", "Reversible", "Collection"),
            "AsyncGenerator",
        )
    },
    "configparser": {"SafeConfigParser": "configparser:ConfigParser"},
    "fractions": {"gcd": "math:gcd"},
    "importlib": {"find_loader": "danlu_runtime.old.stdlib_functions:find_loader"},
    "inspect": {"getargspec": "danlu_runtime.old.stdlib_functions:getargspec"},
    "locale": {
        "format": "locale:format_string",
        "resetlocale": "danlu_runtime.old.stdlib_functions:resetlocale",
    },
    "operator": {"div": "operator:floordiv", "isCallable": "builtins:callable"},
    "platform": {
        "linux_distribution": "danlu_runtime.old.stdlib_functions:linux_distribution",
        "dist": "danlu_runtime.old.stdlib_functions:linux_distribution",
    },
    "ssl": {
        "RAND_pseudo_bytes": "danlu_runtime.old.ssl_names:RAND_pseudo_bytes",
        "wrap_socket": "danlu_runtime.old.ssl_names:wrap_socket",
    },
    "time": {"clock": "time:process_time"},
    "typing": {"io": "typing:", "re": "typing:"},
    "unittest": {
        name: f"danlu_runtime.old.unittest_names:{name}"
        for name in ("findTestCases", "getTestCaseNames", "makeSuite")
    },
}
# The same, for the user's own files only.
_OWN = {
    "itertools": {
        **{"izip": "builtins:zip", "imap": "builtins:map", "ifilter": "builtins:filter"},
        **{"izip_longest": "itertools:zip_longest", "ifilterfalse": "itertools:filterfalse"},
    },
    "inspect": {"ArgSpec": "danlu_runtime.old.stdlib_functions:ArgSpec"},
    "os": {"getcwdu": "os:getcwd", "errno": "errno:"},
    "string": {
        **{"letters": "string:ascii_letters", "lowercase": "string:ascii_lowercase"},
        **{"uppercase": "string:ascii_uppercase", "maketrans": "builtins:str.maketrans"},
        **{"atoi": "builtins:int", "atof": "builtins:float", "atol": "builtins:int"},
        **{"join": "danlu_runtime.old.stdlib_functions:join"},
        **{"joinfields": "danlu_runtime.old.stdlib_functions:join"},
        **{"splitfields": "builtins:str.split"},
        **{
            name: f"builtins:str.{name}"
            for name in (
                *("split", "replace", "strip", "lower", "upper", "find", "zfill", "rjust"),
                *("lstrip", "rstrip", "rsplit", "rfind", "index", "rindex", "count", "ljust"),
                *("center", "capitalize", "swapcase", "expandtabs", "translate"),
            )
        },
    },
    "sys": {
        "maxint": "sys:maxsize",
        "setdefaultencoding": "danlu_runtime.old.stdlib_functions:setdefaultencoding",
        "exc_clear": "danlu_runtime.old.stdlib_functions:exc_clear",
    },
    "types": {
        **{"StringType": "builtins:str", "UnicodeType": "builtins:str"},
        **{"StringTypes": "danlu_runtime.old.stdlib_functions:STRING_TYPES"},
        **{"IntType": "builtins:int", "LongType": "builtins:int", "FloatType": "builtins:float"},
        **{"ListType": "builtins:list", "TupleType": "builtins:tuple", "DictType": "builtins:dict"},
        **{"BooleanType": "builtins:bool", "ObjectType": "builtins:object"},
    },
    "urllib": {
        **{
            name: f"urllib.request:{name}"
            for name in ("urlopen", "urlretrieve", "urlcleanup", "pathname2url", "url2pathname")
        },
        **{
            name: f"urllib.parse:{name}"
            for name in ("urlencode", "quote", "unquote", "quote_plus", "unquote_plus")
        },
    },
}
MOVED = {name: {**_MOVED.get(name, {}), **_OWN.get(name, {})} for name in (*_MOVED, *_OWN)}


def restore(module: ModuleType) -> None:
    name = module.__name__
    if name in _MOVED:
        put_back(module, {old: _maker(now) for old, now in _MOVED[name].items()})
    if name in _OWN:
        put_back(module, {old: _maker(now) for old, now in _OWN[name].items()}, own_only=True)


def _maker(where: str) -> Callable[[], Any]:
    def make() -> Any:
        name, _, path = where.partition(":")
        __import__(name)
        found: Any = sys.modules[name]
        for part in path.split(".") if path else ():
            found = getattr(found, part)
        return found

    return make


def restore_pickle(pickle: Any) -> None:
    """Read Python 2 pickles in the user's files, and files opened in text mode."""
    real_load, real_loads = pickle.load, pickle.loads

    def load(file: Any, *args: Any, **options: Any) -> Any:
        from danlu_runtime.old.names import called_by_own_code

        if args or options or not called_by_own_code():
            return real_load(file, *args, **options)
        raw = getattr(file, "buffer", file)  # the bytes of a file opened in text mode
        start = raw.tell() if hasattr(raw, "seek") else None
        try:
            return real_load(raw)
        except UnicodeDecodeError:
            if start is None:
                raise
            raw.seek(start)
            mapped(get_message("old.pickle"))
            return real_load(raw, encoding="latin1")

    def loads(data: Any, *args: Any, **options: Any) -> Any:
        from danlu_runtime.old.names import called_by_own_code

        if args or options or not called_by_own_code():
            return real_loads(data, *args, **options)
        data = data.encode("latin1") if isinstance(data, str) else data
        try:
            return real_loads(data)
        except UnicodeDecodeError:
            mapped(get_message("old.pickle"))
            return real_loads(data, encoding="latin1")

    pickle.load, pickle.loads = load, loads
