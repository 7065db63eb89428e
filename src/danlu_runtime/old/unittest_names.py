"""Names that ``unittest`` lost in 3.12 and 3.13, and one of Python 2."""

from __future__ import annotations

from danlu_runtime.old.names import mapped, read_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_RENAMED = {
    "assertAlmostEquals": "assertAlmostEqual",
    "assertEquals": "assertEqual",
    "assertItemsEqual": "assertCountEqual",
    "assertNotAlmostEquals": "assertNotAlmostEqual",
    "assertNotEquals": "assertNotEqual",
    "assertNotRegexpMatches": "assertNotRegex",
    "assertRaisesRegexp": "assertRaisesRegex",
    "assertRegexpMatches": "assertRegex",
    "assert_": "assertTrue",
    "failIf": "assertFalse",
    "failIfAlmostEqual": "assertNotAlmostEqual",
    "failIfEqual": "assertNotEqual",
    "failUnless": "assertTrue",
    "failUnlessAlmostEqual": "assertAlmostEqual",
    "failUnlessEqual": "assertEqual",
    "failUnlessRaises": "assertRaises",
}


def restore_case(case: Any) -> None:
    """Add the old methods to ``TestCase``; a class with its own method keeps it."""
    for old, now in _RENAMED.items():
        if not hasattr(case.TestCase, old):
            setattr(case.TestCase, old, _calling(old, now))
    if not hasattr(case.TestCase, "assertDictContainsSubset"):
        case.TestCase.assertDictContainsSubset = _contains_subset


def _calling(old: str, now: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **options: Any) -> Any:
        mapped(read_as(f"TestCase.{old}", f"TestCase.{now}"))
        return getattr(self, now)(*args, **options)

    call.__name__ = call.__qualname__ = old
    return call


def _contains_subset(self: Any, subset: Any, dictionary: Any, msg: Any = None) -> None:
    if {**dictionary, **subset} != dictionary:
        self.fail(self._formatMessage(msg, f"{dictionary!r} does not contain {subset!r}"))


def getTestCaseNames(
    testCaseClass: Any, prefix: str, sortUsing: Any = None, testNamePatterns: Any = None
) -> Any:
    return _loader(prefix, sortUsing, patterns=testNamePatterns).getTestCaseNames(testCaseClass)


def makeSuite(
    testCaseClass: Any, prefix: str = "test", sortUsing: Any = None, suiteClass: Any = None
) -> Any:
    return _loader(prefix, sortUsing, suiteClass).loadTestsFromTestCase(testCaseClass)


def findTestCases(
    module: Any, prefix: str = "test", sortUsing: Any = None, suiteClass: Any = None
) -> Any:
    return _loader(prefix, sortUsing, suiteClass).loadTestsFromModule(module)


def _loader(prefix: str, order: Any, suite: Any = None, patterns: Any = None) -> Any:
    import unittest

    loader = unittest.TestLoader()
    loader.testMethodPrefix = prefix
    loader.testNamePatterns = patterns
    if order is not None:
        loader.sortTestMethodsUsing = order
    if suite is not None:
        loader.suiteClass = suite
    return loader
