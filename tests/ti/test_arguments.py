"""What estimators accept, and how they refuse."""

import typing

import pytest

from danlu.errors import Refused, Unsupported
from ti.arguments import NEW_NAMES, Arguments
from ti.estimator import Estimator
from ti.exceptions import InvalidArguments
from ti.pytorch import PyTorch
from ti.session import Session
from ti.sklearn import SKLearn
from ti.tensorflow import TensorFlow, Tensorflow

SCRIPT = {"entry_point": "train.py"}


def faults(kind=TensorFlow, **arguments):
    with pytest.raises(InvalidArguments) as caught:
        kind(**{**SCRIPT, **arguments})
    return dict(caught.value.faults)


def test_both_spellings_are_one_class():
    assert Tensorflow is TensorFlow


def test_every_argument_of_the_reference_is_taken():
    session = Session()
    found = TensorFlow(
        py_version="py3",
        framework_version="1.14",
        script_mode=True,
        distributions={"parameter_server": {"enabled": True}},
        entry_point="train.py",
        source_dir="code",
        hyperparameters={"lr": 0.1},
        envs={"MINE": "1"},
        container_log_level=10,
        image_name=None,
        role="TIONE_QCSRole",
        train_instance_count=2,
        train_instance_type="TI.SMALL2.1core2g",
        train_volume_size=0,
        train_max_run=10,
        train_max_wait=20,
        input_mode="File",
        output_path="cos://bucket/out",
        subnet_id="subnet-1",
        security_group_ids=["sg-1"],
        base_job_name="mnist",
        train_retry_when_resource_insufficient=True,
        ti_session=session,
    )

    assert (found.train_instance_count, found.train_instance_type) == (2, "TI.SMALL2.1core2g")
    assert (found.py_version, found.framework_version, found.script_mode) == ("py3", "1.14", True)
    assert (found.hyperparameters, found.envs) == ({"lr": 0.1}, {"MINE": "1"})
    assert (found.source_dir, found.output_path) == ("code", "cos://bucket/out")
    assert found.ti_session is session
    assert found.latest_training_job is None


def test_the_defaults_are_those_of_the_reference():
    found = TensorFlow(**SCRIPT)

    assert (found.py_version, found.framework_version, found.script_mode) == ("py3", "2.1.0", True)
    assert (found.train_max_run, found.container_log_level) == (86_400, 20)
    assert (found.source_dir, found.output_path, found.image_name) == (None, None, None)


def test_the_later_names_mean_the_same():
    found = TensorFlow(**SCRIPT, instance_count=3, instance_type="local", max_run=9, max_wait=10)

    assert (found.train_instance_count, found.train_instance_type) == (3, "local")
    assert found.train_max_run == 9
    names = typing.get_type_hints(Arguments)
    assert all(new in names and old in names for new, old in NEW_NAMES.items())


def test_one_thing_under_two_names_must_be_one():
    same = TensorFlow(**SCRIPT, train_instance_count=2, instance_count=2)
    assert same.train_instance_count == 2

    reported = faults(train_instance_count=2, instance_count=3)
    assert reported == {"instance_count": "is already given as train_instance_count."}


def test_unknown_argument_is_refused_with_near_one():
    reported = faults(train_instance_cuont=1, script_mdoe=True, nonsense=1)

    assert reported["train_instance_cuont"].endswith("Did you mean 'train_instance_count'?")
    assert reported["script_mdoe"].endswith("Did you mean 'script_mode'?")
    assert "Known: " in reported["nonsense"]
    assert "source_dir" in reported["nonsense"]


def test_all_faults_are_reported_at_once():
    reported = faults(
        framework_version="3.1",
        py_version="ruby",
        train_instance_count=0,
        train_instance_type=7,
        hyperparameters=[1],
        envs={"A": 1},
        entry_point="run.sh",
    )

    assert set(reported) == {
        *("framework_version", "py_version", "train_instance_count", "train_instance_type"),
        *("hyperparameters", "envs", "entry_point"),
    }
    assert reported["train_instance_count"] == "must be a whole number of at least 1, got 0."
    assert "such as '1.14' or '2.0.0', got '3.1'." in reported["framework_version"]


@pytest.mark.parametrize("kind", [ValueError, TypeError, Refused.__mro__[1]])
def test_a_refusal_is_what_programs_have_always_caught(kind):
    with pytest.raises(kind):
        TensorFlow(**SCRIPT, nonsense=1)


@pytest.mark.parametrize(
    "version", ["1.14", "1.14.0", "1.15.5", "2.0.0", "2.0", "2.3.1", "1.13.1-py3", "2"]
)
def test_versions_of_both_generations_are_known(version):
    assert TensorFlow(**SCRIPT, framework_version=version).runtime().tensorflow == version


def test_a_script_is_needed():
    with pytest.raises(InvalidArguments, match="entry_point: must be the name of a Python file"):
        TensorFlow(source_dir="code")


def test_run_limit_may_not_exceed_wait_limit():
    reported = faults(train_max_run=100, train_max_wait=100)

    assert reported == {"train_max_run": "must be less than train_max_wait (100), got 100."}


def test_data_is_never_piped():
    with pytest.raises(Unsupported, match=r"input_mode: 'Pipe' is not supported"):
        TensorFlow(**SCRIPT, input_mode="Pipe")


def test_a_session_is_a_session():
    assert "must be a ti.session.Session" in faults(ti_session="cos")["ti_session"]


class Zero:
    """What a number of NumPy's looks like."""

    ndim = 0

    def item(self):
        return 0.5


@pytest.mark.parametrize("value", [1, 1.5, True, None, "", "a b", [1, "x"], {"k": [None]}, Zero()])
def test_json_value_is_a_hyperparameter(value):
    assert TensorFlow(**SCRIPT, hyperparameters={"k": value})


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], object(), {"k": {1}}, b"x"])
def test_non_json_value_is_refused_by_name(value):
    assert "hyperparameters.k" in faults(hyperparameters={"k": value})


def test_hyperparameters_are_a_dict_and_a_method():
    found = TensorFlow(**SCRIPT, hyperparameters={"lr": 0.1})
    found.set_hyperparameters(epochs=3)

    assert found.hyperparameters == found.hyperparameters() == {"lr": 0.1, "epochs": 3}
    assert found.hyperparameters["epochs"] == 3


def test_job_methods_need_a_job():
    found = TensorFlow(**SCRIPT)

    for ask in (lambda: found.model_data, found.logs, found.stop):
        with pytest.raises(Refused, match=r"no training job yet.*\n.*fit\(\)"):
            ask()


def test_models_are_not_served_yet():
    with pytest.raises(Unsupported, match=r"deploy\(\) is not supported"):
        TensorFlow(**SCRIPT).deploy(initial_instance_count=1, instance_type="local")


def test_an_image_stands_for_a_runtime():
    image = "registry.example:5000/team/tensorflow-gpu:1.14.0-py2"
    first = TensorFlow(**SCRIPT, image_name=image).runtime()
    own = Estimator(image, "role", 2, "local", entry_point="train.py")

    assert (first.tensorflow, first.python) == ("1.14.0", "py2")
    assert own.runtime() == first
    assert (own.train_instance_count, own.train_instance_type, own.role) == (2, "local", "role")


def test_an_image_that_is_not_known_is_refused():
    reported = faults(Estimator, image_name="team/vision:3")

    assert "there are no containers here" in reported["image_name"]
    assert "ti.images.RUNTIMES['team/vision'] = 'tensorflow:1.14'" in reported["image_name"]
    assert "image_name" in faults(Estimator)


def test_other_frameworks_leave_tensorflow_alone():
    assert PyTorch(**SCRIPT).runtime().tensorflow == "none"
    assert SKLearn(**SCRIPT, framework_version="0.20").runtime().framework == "sklearn"
