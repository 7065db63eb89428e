"""tf.contrib.training.HParams."""

import pytest


def test_text_sets_values_of_the_type_they_had(tf):
    hparams = tf.contrib.training.HParams(rate=0.1, units=100, acts=["relu", "tanh"], flag=False)

    hparams.parse("rate=1,units=7,acts=[a, b],flag=true")

    assert hparams.values() == {"rate": 1.0, "units": 7, "acts": ["a", "b"], "flag": True}
    assert isinstance(hparams.rate, float)


def test_json_goes_both_ways(tf):
    hparams = tf.contrib.training.HParams(b=1, a="x")

    assert hparams.to_json(sort_keys=True) == '{"a": "x", "b": 1}'
    assert hparams.parse_json('{"b": 5}').b == 5


def test_parameters_are_added_set_and_removed(tf):
    hparams = tf.contrib.training.HParams(a=1)

    hparams.add_hparam("b", 2.0)
    hparams.set_hparam("b", 3)
    hparams.override_from_dict({"a": 9})
    hparams.del_hparam("a")

    assert "a" not in hparams
    assert hparams.get("a", 4) == 4
    assert hparams.b == 3.0
    assert str(hparams) == "b=3.0"
    assert repr(hparams) == "HParams([('b', 3.0)])"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("units=1.5", "Could not parse hparam 'units' of type 'int' with value '1.5'"),
        ("units=1,units=2", "Multiple assignments to variable 'units'"),
        ("other=1", "Unknown hyperparameter type for other"),
        ("units", "Malformed hyperparameter value: units"),
        ("units=[1,2]", "Must not pass a list for single-valued parameter: units"),
    ],
)
def test_a_text_that_cannot_be_read_reports_why(tf, text, fault):
    hparams = tf.contrib.training.HParams(units=1)

    with pytest.raises(ValueError, match=fault.replace("[", r"\[")):
        hparams.parse(text)


def test_a_value_of_another_type_is_refused(tf):
    hparams = tf.contrib.training.HParams(units=1, name="x", flag=True)

    for name, value in {"units": 1.5, "name": 3, "flag": 1}.items():
        with pytest.raises(ValueError, match=f"Could not cast hparam '{name}'"):
            hparams.set_hparam(name, value)


def test_a_name_can_be_given_once(tf):
    hparams = tf.contrib.training.HParams(a=1)

    with pytest.raises(ValueError, match="Hyperparameter name is reserved: a"):
        hparams.add_hparam("a", 2)


def test_values_by_index_are_collected(tf):
    parse_values = tf.contrib.training.parse_values

    assert parse_values("a[1]=2,a[0]=3,b=4", {"a": int}, ignore_unknown=True) == {"a": {1: 2, 0: 3}}


def test_a_message_keeps_everything(tf):
    from tensorflow.contrib.training.python.training import hparam

    given = {"i": 3, "f": 0.5, "s": "text", "b": True, "many": [1, 2], "texts": ["a", "b"]}

    message = hparam.HParams(**given).to_proto()
    back = tf.contrib.training.HParams(
        hparam_def=type(message).FromString(message.SerializeToString())
    )

    assert back.values() == given
