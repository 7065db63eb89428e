"""What becomes of a requirement on this runtime, by its name. Pure, so its test is a table.

A package of the runtime is never replaced. Some distributions have changed their names since the
scripts were written, and some have become part of Python.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from danlu.agent.install_wanted import Wanted

# Distributions that fill the same folder: one that is there stands for all.
FAMILIES = (
    (
        *("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tf-nightly", "tf-nightly-gpu"),
        *("intel-tensorflow", "tensorflow-rocm", "tensorflow-intel"),
    ),
    ("tensorboard", "tensorflow-tensorboard", "tb-nightly"),
    ("tensorflow-estimator", "tf-estimator-nightly"),
    (
        *("opencv-python-headless", "opencv-python", "opencv-contrib-python-headless"),
        *("opencv-contrib-python", "cv2"),
    ),
    ("scikit-learn", "sklearn", "scikits-learn"),
    ("scikit-image", "skimage"),
    ("pillow", "pil", "pillow-simd"),
    ("pyyaml", "yaml"),
    ("pycryptodome", "pycrypto"),
    ("python-dateutil", "dateutil"),
    ("msgpack", "msgpack-python"),
    ("mysqlclient", "mysql-python"),
    ("psycopg2-binary", "psycopg2"),
    ("danlu", "moxing", "moxing-framework", "moxing-tensorflow"),
)
# What is installed for a name that cannot be, or that needs a screen.
RENAMED = {
    "tensorflow-gpu": "tensorflow",
    "tf-nightly-gpu": "tensorflow",
    "intel-tensorflow": "tensorflow",
    "tensorflow-tensorboard": "tensorboard",
    "opencv-python": "opencv-python-headless",
    "opencv-contrib-python": "opencv-contrib-python-headless",
    "cv2": "opencv-python-headless",
    "sklearn": "scikit-learn",
    "scikits-learn": "scikit-learn",
    "skimage": "scikit-image",
    "pil": "pillow",
    "yaml": "pyyaml",
    "pycrypto": "pycryptodome",
    "dateutil": "python-dateutil",
    "msgpack-python": "msgpack",
    "mysql-python": "mysqlclient",
    "psycopg2": "psycopg2-binary",
}
# Part of Python 3, or a tool the platform brings itself.
NOT_NEEDED = frozenset(
    (
        *("argparse", "asyncio", "configparser", "dataclasses", "enum34", "functools32", "futures"),
        *("importlib", "ordereddict", "pathlib", "singledispatch", "subprocess32", "typing"),
        *("unittest2", "wsgiref", "distribute", "pip", "wheel"),
    )
)
# Their old versions do not compile on a new Python, and take minutes to say so.
COMPILED = frozenset(
    (
        *("numpy", "scipy", "pandas", "scikit-learn", "scikit-image", "matplotlib", "h5py"),
        *("pillow", "opencv-python-headless", "opencv-contrib-python-headless", "tensorflow"),
        *("grpcio", "protobuf", "lxml", "cython", "cryptography", "cffi", "pyarrow", "numba"),
        *("llvmlite", "statsmodels", "xgboost", "lightgbm", "gensim", "spacy", "torch"),
        *("torchvision", "shapely", "pyzmq", "gevent", "greenlet", "aiohttp", "regex", "tables"),
    )
)
NEVER = "python_version < '0'"  # an override that takes a requirement away


@dataclass(frozen=True)
class Change:
    """Something other than asked for. ``why``: runtime, renamed, not_needed or any_version."""

    asked: str
    where: str
    why: str
    got: str = ""  # name of what is used instead

    def sentence(self, version: str) -> str:
        used = f"{self.got} {version}".strip()
        said = {
            "runtime": f"the runtime's {used} is used",
            "renamed": f"{used} is used, as it is called now",
            "not_needed": "not needed: Python or the platform has it",
            "any_version": f"cannot be installed here; {used} is used",
        }
        return f"{self.asked} ({self.where}): {said[self.why]}"


@dataclass(frozen=True)
class Choice:
    """What to install for a requirement, if anything, and what is to be told of it."""

    install: Wanted | None
    change: Change | None = None


def choose(wanted: Wanted, runtime: Mapping[str, str]) -> Choice:
    """Decide by the name alone; ``runtime`` has the versions of what is installed there."""
    asked, where, name = wanted.asked, wanted.where, wanted.name
    there = next((member for member in family(name) if member in runtime), "")
    if there:
        as_asked = there == name and not wanted.url and _fits(wanted.specifier, runtime[there])
        return Choice(None, None if as_asked else Change(asked, where, "runtime", there))
    if name in NOT_NEEDED:
        return Choice(None, Change(asked, where, "not_needed"))
    if name in RENAMED and not wanted.url:
        new = RENAMED[name]
        # The versions of a distribution under its old name are not those under its new one.
        kept = wanted.specifier if _same_versions(name) else ""
        renamed = replace(wanted, name=new, specifier=kept)
        return Choice(renamed, Change(asked, where, "renamed", new))
    return Choice(wanted)


def dropped(runtime: Iterable[str]) -> list[str]:
    """Return names nobody may install, though a package deep below may ask for them."""
    there = set(runtime)
    names = set(NOT_NEEDED)
    for members in FAMILIES:
        if there.intersection(members):
            names.update(members)
    return sorted(names - there)


def family(name: str) -> tuple[str, ...]:
    """Return a name first, then those that stand for the same thing."""
    for members in FAMILIES:
        if name in members:
            return (name, *(member for member in members if member != name))
    return (name,)


def _same_versions(name: str) -> bool:
    return name.startswith(("tensorflow", "opencv", "psycopg2", "intel"))


def _fits(specifier: str, version: str) -> bool:
    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except InvalidSpecifier:
        return False
