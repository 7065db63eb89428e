import pytest

from danlu.job import presets
from moxing.tensorflow.nets.zoo import NETWORKS
from moxing.tensorflow.utils.hyper_param_flags import mox_flags
from pages import both


def test_the_platform_knows_every_network_of_moxing():
    assert list(presets.NAMES) == sorted(n for n, network in NETWORKS.items() if network.builder)
    assert set(presets.NOT_BUILT) == {n for n, net in NETWORKS.items() if not net.builder}


def test_every_flag_of_moxing_may_be_given():
    assert set(presets.FLAGS) == set(mox_flags)
    assert presets.faults({"num_gpus": "4", "checkpoint_exclude_patterns": "logits"}) == []


def test_every_default_is_allowed():
    defaults = {p.name: p.constraint.default or "" for p in presets.PARAMETERS}

    assert presets.faults(defaults) == []
    assert presets.values(defaults) == presets.values({})


def test_values_are_typed_and_empty_is_default():
    """Manual, section 13.3 of its examples; the service sends rows without a value too."""
    values = presets.values({"batch_size": "", "max_epochs": "3", "export_model": "False"})

    assert (values["batch_size"], values["max_epoches"], values["export_model"]) == (32, 3, False)
    assert (values["learning_rate_strategy"], values["samples_per_epoch"]) == ("0.002", None)


def test_all_faults_are_reported():
    reported = dict(
        presets.faults(
            {"batch_size": "0", "bach_size": "3", "data_format": "HWC", "quick": "1",
             "learning_rate": "0.1", "learning_rate_strategy": "0.2"}
        )
    )  # fmt: skip

    assert reported["batch_size"] == "must be a whole number from 1 to 1000000000, got '0'."
    assert (
        reported["bach_size"] == "is not a parameter of preset models. Did you mean 'batch_size'?"
    )
    assert reported["data_format"] == "must be one of 'NHWC', 'NCHW', got 'HWC'."
    assert reported["quick"].startswith(
        "is not a parameter of preset models. Parameters: run_mode, "
    )
    assert "learning_rate_strategy, which is given too" in reported["learning_rate"]


@pytest.mark.parametrize(
    "text",
    ["0.1", "1e-3", ".5", "10:0.01,20:0.001", "5:0.01->0.1,30:0.1,60:0.1=>0.001", "10: 0.1, 20:1"],
)
def test_a_rate_that_moxing_reads_is_allowed(tf, text):
    from moxing.tensorflow.optimizer import learning_rate_scheduler

    learning_rate_scheduler.read(text)

    assert presets.faults({"learning_rate_strategy": text}) == []


@pytest.mark.parametrize("text", ["fast", "-1", "10:", "0.1,0.2", "10:0.1;20:0.2", "10:0.1->"])
def test_a_rate_that_moxing_refuses_is_refused_before(tf, text):
    from moxing.tensorflow.optimizer import learning_rate_scheduler

    with pytest.raises(ValueError, match="learning rate"):
        learning_rate_scheduler.read(text)

    assert presets.faults({"learning_rate_strategy": text}) != []


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("train:0.8,eval:0.2", {"train": 0.8, "eval": 0.2}),
        ("train:1", {"train": 1.0}),
        ("train: .5, eval: .25", {"train": 0.5, "eval": 0.25}),
        ("train:0.8,eval:0.3", None),
        ("eval:0.2", None),
        ("train:0.8,test:0.2", None),
        ("0.8", None),
        ("train:0.4,train:0.4", None),
    ],
)
def test_shares_of_a_split(text, shares):
    assert presets.shares(text) == shares
    assert bool(presets.faults({"split_spec": text})) is (shares is None)


@pytest.mark.parametrize("found", both("docs/guides/presets"), ids=["en", "zh"])
def test_every_parameter_has_its_line_in_the_guide(found):
    rows = {row[0].strip("`"): row[1] for row in found.rows()}

    assert list(rows) == [parameter.name for parameter in presets.PARAMETERS]
    for parameter in presets.PARAMETERS:
        shown = [text.strip("`") for text in rows[parameter.name].split(", ")]
        if parameter.constraint.valid_type == "choice":
            assert tuple(shown) == parameter.constraint.valid_range
        else:
            assert shown == [parameter.constraint.default or "-"]
