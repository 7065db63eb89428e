"""docs/guides/ti-sdk.md: its tables are the SDK as it is; tests/test_docs.py runs its programs."""

import inspect
import re

import pytest

from pages import both, page
from ti.arguments import DEFAULTS, NEW_NAMES
from ti.estimator import EstimatorBase
from ti.tensorflow import TensorFlow

GUIDE = page("docs/guides/ti-sdk.md")
OWN = ("py_version", "framework_version", "script_mode", "distributions")


@pytest.mark.parametrize("found", both("docs/guides/ti-sdk"), ids=["en", "zh"])
def test_every_argument_has_its_line_with_its_default(found):
    rows = {row[0].strip("`"): row[1].strip("`") for row in found.rows() if len(row) == 3}
    signature = inspect.signature(TensorFlow.__init__).parameters
    defaults = {**DEFAULTS, **{name: signature[name].default for name in OWN}}

    assert rows.pop("entry_point") == ""
    assert rows == {name: repr(defaults[name]) for name in defaults if name != "entry_point"}


def test_guide_lists_all_later_names():
    assert set(NEW_NAMES) <= set(GUIDE.spans)


@pytest.mark.parametrize("name", ["fit", "attach", "logs", "stop", "set_hyperparameters"])
def test_every_call_has_its_line_with_its_arguments(name):
    parameters = inspect.signature(getattr(EstimatorBase, name)).parameters.values()
    words = [re.sub(r":.*?(?=( = |$))", "", str(item)).replace(" = ", "=") for item in parameters]
    keywords = [item.name for item in parameters if item.kind is item.KEYWORD_ONLY]
    words = [word for word in words if word != "self"]
    if keywords:
        first = next(index for index, word in enumerate(words) if word.startswith(keywords[0]))
        words.insert(first, "*")

    assert f"`{name}({', '.join(words)})`" in {row[0] for row in GUIDE.rows()}
