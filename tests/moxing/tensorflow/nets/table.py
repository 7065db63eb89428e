"""The table of docs/reference/networks.md: every network and what it has.

With the runtime, this builds each of them and writes the table, which takes some minutes:

    danlu python --framework-version 1.15 tests/moxing/tensorflow/nets/table.py
"""

import hashlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from moxing.tensorflow.nets.zoo import NETWORKS

HERE = Path(__file__).parent
PAGES = {"en": "networks.md", "zh": "networks.zh-CN.md"}
FOLDER = HERE.parents[3] / "docs/reference"
NOT_BUILT = {"en": "not built: refused", "zh": "未实现：拒绝"}


def classes(name: str) -> int:
    """Return how many classes a network is built with: its data set's."""
    return 10 if NETWORKS[name].size <= 32 else 1000


def build(name: str) -> tuple[Any, dict[str, Any]]:
    """Build a network for training in the default graph."""
    import tensorflow.compat.v1 as tf

    from moxing.tensorflow.nets import get_model_fn

    size = NETWORKS[name].size
    network = get_model_fn(name, "TRAIN", classes(name), weight_decay=1e-4)
    logits, end_points = network(tf.zeros([2, size, size, 3]))
    return logits, end_points


def parameters() -> int:
    """Return how many numbers the default graph trains."""
    import tensorflow.compat.v1 as tf

    return sum(each.shape.num_elements() for each in tf.trainable_variables())


def digest(variables: Iterable[Any]) -> tuple[int, str]:
    """Return the number of variables and a sum over their names and shapes."""
    lines = sorted(
        f"{each.op.name} {each.shape.as_list()}"
        for each in variables
        if each.op.name != "global_step"
    )
    return len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest()


def public() -> dict[str, tuple[int, int, str]]:
    """Return variables, regularised variables and digest of each network of TF-slim.

    They were counted in graphs that its own code had built for training.
    """
    rows = (row.split("\t") for row in (HERE / "public.tsv").read_text().splitlines())
    return {name: (int(count), int(decays), found) for name, count, decays, found in rows}


def rows(lang: str, counts: Mapping[str, int]) -> list[str]:
    return [
        f"| `{name}` | {network.size} | {network.preprocessing} | {network.labels_offset} | "
        f"{f'{counts[name]:,}' if network.builder else NOT_BUILT[lang]} | `{network.logits}` |"
        for name, network in sorted(NETWORKS.items())
    ]


def first_table(lines: list[str]) -> tuple[int, int]:
    """Return where the rows of a page's first table begin and end."""
    begin = next(number for number, line in enumerate(lines) if line.startswith("|---")) + 1
    end = next(number for number in range(begin, len(lines)) if not lines[number].startswith("|"))
    return begin, end


def written(lang: str) -> list[str]:
    """Return the rows the page has."""
    lines = (FOLDER / PAGES[lang]).read_text(encoding="utf-8").splitlines()
    begin, end = first_table(lines)
    return lines[begin:end]


def main() -> None:
    import tensorflow.compat.v1 as tf

    counts = {}
    for name, network in NETWORKS.items():
        if network.builder:
            with tf.Graph().as_default():
                build(name)
                counts[name] = parameters()
    for lang, name in PAGES.items():
        page = FOLDER / name
        lines = page.read_text(encoding="utf-8").splitlines()
        begin, end = first_table(lines)
        text = "\n".join([*lines[:begin], *rows(lang, counts), *lines[end:]])
        page.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
