"""Restores names that other libraries and Python have removed.

``AFTER``: functions called with a module after it was imported. ``SERVED``: removed modules and
what is imported instead, if the real one is not installed. ``PYTHON2``: the same for the user's
own files only, because libraries test these names to detect Python 2.

``names``: helpers for all. ``distutils``, ``python2``: whole removed modules.
``numpy_names``, ``numpy_arguments``, ``pandas_names``, ``scipy_names``, ``scipy_misc``.
``sklearn_names``, ``sklearn_arguments``, ``sklearn_assignment``, ``sklearn_cross_validation``.
``matplotlib_names``, ``pillow_names``, ``cv2_names``, ``cv2_coordinates`` (OpenCV).
``stdlib``, ``stdlib_arguments``, ``stdlib_functions``, ``unittest_names``, ``ssl_names``.
``cgi_names``, ``imp_names``, ``image_kind``: the modules cgi, imp and imghdr.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_STDLIB = (
    *("base64", "cgi", "collections", "fractions", "importlib", "inspect", "locale", "operator"),
    *("platform", "ssl", "time", "itertools", "os", "string", "sys", "types", "unittest", "urllib"),
)
_ARGUMENTS = ("configparser", "json", "random", "threading", "typing")
AFTER: dict[str, str] = {
    **{name: "danlu_runtime.old.stdlib:restore" for name in _STDLIB},
    **{name: f"danlu_runtime.old.stdlib_arguments:restore_{name}" for name in _ARGUMENTS},
    "cv2": "danlu_runtime.old.cv2_names:restore",
    "html.parser": "danlu_runtime.old.stdlib_arguments:restore_html_parser",
    "matplotlib": "danlu_runtime.old.matplotlib_names:restore",
    "matplotlib.cm": "danlu_runtime.old.matplotlib_names:restore_cm",
    "matplotlib.pyplot": "danlu_runtime.old.matplotlib_names:restore_pyplot",
    "matplotlib.style": "danlu_runtime.old.matplotlib_names:restore_style",
    "numpy": "danlu_runtime.old.numpy_names:restore",
    "numpy.random": "danlu_runtime.old.numpy_names:restore_random",
    "pandas": "danlu_runtime.old.pandas_names:restore",
    "pickle": "danlu_runtime.old.stdlib:restore_pickle",
    "PIL.Image": "danlu_runtime.old.pillow_names:restore_image",
    "PIL.ImageDraw": "danlu_runtime.old.pillow_names:restore_draw",
    "PIL.ImageFont": "danlu_runtime.old.pillow_names:restore_font",
    "runpy": "danlu_runtime.repair.main:patch_runpy",
    "scipy": "danlu_runtime.old.scipy_names:restore",
    "scipy.integrate": "danlu_runtime.old.scipy_names:restore_integrate",
    "scipy.misc": "danlu_runtime.old.scipy_misc:restore",
    "scipy.signal": "danlu_runtime.old.scipy_names:restore_signal",
    "sklearn.cluster": "danlu_runtime.old.sklearn_names:restore_cluster",
    "sklearn.datasets": "danlu_runtime.old.sklearn_names:restore_datasets",
    "sklearn.linear_model": "danlu_runtime.old.sklearn_names:restore_linear_model",
    "sklearn.metrics": "danlu_runtime.old.sklearn_names:restore_metrics",
    "sklearn.preprocessing": "danlu_runtime.old.sklearn_names:restore_preprocessing",
    "unittest.case": "danlu_runtime.old.unittest_names:restore_case",
}
_DISTUTILS = ("version", "util", "dir_util", "spawn", "file_util")
SERVED: dict[str, str] = {
    "cgi": "danlu_runtime.old.cgi_names",
    "distutils": "danlu_runtime.old.distutils",
    **{f"distutils.{name}": f"danlu_runtime.old.distutils.{name}" for name in _DISTUTILS},
    "imghdr": "danlu_runtime.old.image_kind",
    "imp": "danlu_runtime.old.imp_names",
    "pipes": "shlex",
    "scipy.misc": "danlu_runtime.old.scipy_misc",
    "scipy.misc.pilutil": "danlu_runtime.old.scipy_misc",
    "sklearn.cross_validation": "danlu_runtime.old.sklearn_cross_validation",
    "sklearn.ensemble.forest": "sklearn.ensemble",
    "sklearn.externals.joblib": "joblib",
    "sklearn.externals.six": "six",
    "sklearn.externals.six.moves": "six.moves",
    "sklearn.grid_search": "sklearn.model_selection",
    "sklearn.learning_curve": "sklearn.model_selection",
    "sklearn.linear_model.logistic": "sklearn.linear_model",
    "sklearn.metrics.classification": "sklearn.metrics",
    "sklearn.metrics.ranking": "sklearn.metrics",
    "sklearn.preprocessing.data": "sklearn.preprocessing",
    "sklearn.preprocessing.label": "sklearn.preprocessing",
    "sklearn.utils.linear_assignment_": "danlu_runtime.old.sklearn_assignment",
}
PYTHON2: dict[str, str] = {
    "BaseHTTPServer": "http.server",
    "ConfigParser": "danlu_runtime.old.python2.config_parser",
    "Cookie": "http.cookies",
    "HTMLParser": "html.parser",
    "Image": "PIL.Image",
    "ImageDraw": "PIL.ImageDraw",
    "ImageFont": "PIL.ImageFont",
    "Queue": "queue",
    "SimpleHTTPServer": "http.server",
    "SocketServer": "socketserver",
    "StringIO": "danlu_runtime.old.python2.string_io",
    "Tkinter": "tkinter",
    "__builtin__": "builtins",
    "cPickle": "pickle",
    "cStringIO": "danlu_runtime.old.python2.string_io",
    "commands": "danlu_runtime.old.python2.commands",
    "cookielib": "http.cookiejar",
    "copy_reg": "copyreg",
    "dummy_threading": "threading",
    "htmlentitydefs": "html.entities",
    "httplib": "http.client",
    "md5": "danlu_runtime.old.python2.md5",
    "thread": "_thread",
    "urllib2": "danlu_runtime.old.python2.urllib2",
    "urlparse": "urllib.parse",
    "xmlrpclib": "xmlrpc.client",
}


def amend_loaded(after: Mapping[str, str] = AFTER) -> None:
    """Restore names in modules that Python itself loaded before any import hook."""
    for name in (*_STDLIB, *_ARGUMENTS):
        if name in sys.modules and name in after:
            module, _, function = after[name].partition(":")
            __import__(module)
            getattr(sys.modules[module], function)(sys.modules[name])
