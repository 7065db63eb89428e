"""Every symbol of tf.contrib, and every private path, that public scripts use: called once."""

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location(
    "coverage_table", Path(__file__).parent / "coverage" / "table.py"
)
table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)

PAGES = [("en", "contrib.md"), ("zh", "contrib.zh-CN.md")]


def test_every_symbol_is_called_by_one_module():
    called = [name for module in table.modules() for name in table.calls(module)]

    assert sorted({name for name, _ in table.symbols()} - set(called)) == []
    assert sorted({name for name in called if called.count(name) > 1}) == []


@pytest.mark.parametrize("module", table.modules())
@pytest.mark.timeout(600)
def test_each_call_gives_what_it_should(tf, module, monkeypatch):
    failed = {}
    for name, call in table.calls(module).items():
        monkeypatch.delenv("TF_CONFIG", raising=False)
        tf.reset_default_graph()
        tf.keras.backend.clear_session()
        try:
            call(tf)
        except BaseException as error:
            failed[name] = f"{type(error).__name__}: {error}"

    assert failed == {}


@pytest.mark.parametrize(("lang", "name"), PAGES)
def test_the_page_reports_what_becomes_of_each(tf, lang, name):
    page = (table.PAGES / name).read_text(encoding="utf-8").splitlines()

    assert [line for line in page if line.startswith("| `t")] == list(table.rows(lang))
