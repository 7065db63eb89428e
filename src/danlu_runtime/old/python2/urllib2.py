"""``urllib2``: requests, errors and quoting in one module, as in Python 2."""

from urllib.error import ContentTooShortError, HTTPError, URLError
from urllib.parse import quote, unquote, urlencode, urlparse, urlsplit
from urllib.request import (
    AbstractBasicAuthHandler,
    BaseHandler,
    HTTPBasicAuthHandler,
    HTTPCookieProcessor,
    HTTPHandler,
    HTTPPasswordMgrWithDefaultRealm,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
    install_opener,
    urlopen,
)

__all__ = [
    "AbstractBasicAuthHandler",
    "BaseHandler",
    "ContentTooShortError",
    "HTTPBasicAuthHandler",
    "HTTPCookieProcessor",
    "HTTPError",
    "HTTPHandler",
    "HTTPPasswordMgrWithDefaultRealm",
    "HTTPRedirectHandler",
    "HTTPSHandler",
    "OpenerDirector",
    "ProxyHandler",
    "Request",
    "URLError",
    "build_opener",
    "install_opener",
    "quote",
    "unquote",
    "urlencode",
    "urlopen",
    "urlparse",
    "urlsplit",
]
