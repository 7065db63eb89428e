"""The table of docs/reference/contrib.md: what public scripts use, and what becomes of it.

``symbols.tsv`` counts the files of a sample of 652 public training scripts that use a symbol. Each
is called by a function of the modules beside this one. With the runtime, this writes the table:

    danlu python --framework-version 1.15 tests/runtime/tf1/coverage/table.py
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGES = HERE.parents[3] / "docs/reference"
STATUS = {"en": ("works", "refused"), "zh": ("可用", "拒绝")}


def symbols() -> list[tuple[str, int]]:
    rows = (HERE / "symbols.tsv").read_text().splitlines()
    return [(name, int(files)) for name, files in (row.split("\t") for row in rows)]


def modules() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("table", "__init__"))


def calls(module: str) -> dict[str, Callable[[Any], None]]:
    """Return the calls of one module, by symbol."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(f"coverage_{module}", HERE / f"{module}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.CALLS  # type: ignore[no-any-return]


def refusal(symbol: str) -> str:
    """Return the sentence a symbol is refused with, "" where it is there."""
    from danlu_runtime.tf1.facade import GoneModule, RemovedNameError

    if symbol.startswith("tensorflow.python.keras"):
        return ""  # read as public names in the user's own files, and there alone
    first, *rest = symbol.replace("tf.", "tensorflow.", 1).split(".")
    found = importlib.import_module(first)
    path = first
    for part in rest:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except (RemovedNameError, GoneModule) as error:
            return str(error).splitlines()[0]
        except AttributeError:
            found = importlib.import_module(path)
    return ""


def rows(lang: str) -> Iterator[str]:
    works, refused = STATUS[lang]
    for symbol, files in symbols():
        sentence = refusal(symbol)
        status = f"{refused}: {sentence}" if sentence else works
        yield f"| `{symbol}` | {files} | {status} |"


def main() -> None:
    for lang, name in (("en", "contrib.md"), ("zh", "contrib.zh-CN.md")):
        page = PAGES / name
        kept = [
            line for line in page.read_text(encoding="utf-8").splitlines() if "| `t" not in line
        ]
        at = next(number for number, line in enumerate(kept) if line.startswith("|---")) + 1
        page.write_text("\n".join([*kept[:at], *rows(lang), *kept[at:]]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
