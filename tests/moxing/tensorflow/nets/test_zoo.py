"""Every network of the zoo: the variables of the public ones, and its row on the page."""

import importlib.util
import re
from pathlib import Path

import pytest

from moxing.tensorflow.nets.zoo import NETWORKS

spec = importlib.util.spec_from_file_location("zoo_table", Path(__file__).parent / "table.py")
table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)

LARGE = re.compile(
    r"nasnet|_b_|_(101|110|152|200|65|71|19|v4)|inception_resnet|vgg_.*_bn|v[12]_0[57]"
)
BUILT = [
    pytest.param(name, marks=pytest.mark.long) if LARGE.search(name) else name
    for name, network in NETWORKS.items()
    if network.builder
]
# Counted by the authors of the papers, or by others who built the same.
PUBLISHED = {
    "alexnet_v2": 50_303_912,
    "resnet_v1_18": 11_689_512,
    "resnet_v1_20": 269_722,
    "resnet_v1_50": 25_557_032,
    "resnet_v1_101": 44_549_160,
    "resnet_v1_110": 1_727_962,
    "resnet_v1_152": 60_192_808,
    "resnext_b_50": 25_028_904,
    "resnext_c_50": 25_028_904,
    "resnext_c_101": 44_177_704,
    "vgg_16": 138_357_544,
    "vgg_19": 143_667_240,
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", BUILT)
def test_network_has_variables_of_public_one(tf, name):
    logits, _ = table.build(name)

    assert logits.shape.as_list() == [2, table.classes(name)]
    patterns = NETWORKS[name].logits.split(",")
    for each in tf.trainable_variables():
        if each.shape.as_list()[-1] == table.classes(name):  # must be left out for other classes
            assert any(pattern in each.op.name for pattern in patterns)
    counted = f"{table.parameters():,}"
    assert all(f"| {counted} |" in row for row in page_rows(name))
    if name in PUBLISHED:
        assert table.parameters() == PUBLISHED[name]
    if name in table.public():
        variables, regularized, digest = table.public()[name]
        assert table.digest(tf.global_variables()) == (variables, digest)
        losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        assert len(losses) == regularized


@pytest.mark.parametrize("lang", table.PAGES)
def test_the_page_has_a_row_for_every_network(lang):
    counts = dict.fromkeys(NETWORKS, 0)
    wanted = [re.sub(r"\| 0 \| `", "| N | `", row) for row in table.rows(lang, counts)]

    assert [re.sub(r"\| [\d,]+ \| `", "| N | `", row) for row in table.written(lang)] == wanted


def page_rows(name: str) -> list[str]:
    rows = [row for lang in table.PAGES for row in table.written(lang)]
    return [row for row in rows if row.startswith(f"| `{name}` |")]
