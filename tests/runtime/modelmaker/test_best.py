"""The best model is kept, whatever is killed between two evaluations."""

import json
import shutil

import pytest


class Exports:
    """Exports nothing but what lies beside a model, to directories with numbers."""

    def __init__(self):
        self.version = 1700000000

    def export_saved_model(self, folder, receiver, assets_extra, checkpoint_path):
        self.version += 1
        extra = folder / str(self.version) / "assets.extra"
        extra.mkdir(parents=True)
        for name, file in assets_extra.items():
            shutil.copy(file, extra / name)
        return bytes(extra.parent)


@pytest.fixture
def evaluate(tf, tmp_path):
    """Pass a loss to the exporter of a new attempt; return the exports that are there then."""
    exports = Exports()

    def report(loss, **metrics):
        from danlu_runtime.modelmaker.training import BestExporter

        result = {"loss": loss, "global_step": 7, **metrics}
        BestExporter("best", None, None).export(exports, tmp_path / "best", "", result, False)
        return sorted(tmp_path.glob("best/*"))

    return report


def metrics_in(folder):
    return json.loads((folder / "assets.extra" / "evaluation.json").read_text())


def test_worse_model_never_takes_place_of_better_one(evaluate):
    (first,) = evaluate(0.5)

    assert evaluate(0.7) == [first]
    (better,) = evaluate(0.3)
    assert better != first
    assert metrics_in(better)["loss"] == 0.3


def test_loss_that_is_no_number_is_worst(evaluate):
    (first,) = evaluate(float("nan"))

    (second,) = evaluate(9.0)

    assert second != first
    assert evaluate(float("nan")) == [second]


def test_only_numbers_are_reported(evaluate):
    import numpy as np

    (folder,) = evaluate(
        np.float32(0.5), accuracy=np.float64(0.25), picture=b"png", table=np.zeros([2, 2])
    )

    assert metrics_in(folder) == {"loss": 0.5, "accuracy": 0.25, "global_step": 7}


def test_an_export_without_its_evaluation_is_replaced(evaluate, tmp_path):
    (tmp_path / "best" / "1500000000").mkdir(parents=True)

    assert [folder.name for folder in evaluate(0.5)] == ["1700000001"]
