"""fit, attach, stop and logs against a real server, with scripts that need nothing."""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from danlu.errors import Conflict, NotFound, Unsupported
from ti import submitting
from ti.data_source import CosInput, FileInput, FileSystemInput
from ti.estimator import Estimator
from ti.exceptions import InvalidArguments, TrainingFailed
from ti.pytorch import PyTorch
from ti.session import Session
from ti.tensorflow import TensorFlow

# Strict as scripts are that come from elsewhere: a word too many would end it.
STRICT = """
import argparse, json, os
parser = argparse.ArgumentParser()
parser.add_argument('--lr', type=float)
parser.add_argument('--name')
parser.add_argument('--flag', nargs='?', const='nothing')
args = parser.parse_args()
print('args', json.dumps(vars(args), sort_keys=True))
print('framework', os.environ['TI_TRAINING_FRAMEWORK'], os.environ.get('DANLU_TENSORFLOW'))
for name in json.loads(os.environ['TM_CHANNELS']):
    print(name, sorted(os.listdir(os.environ['TM_CHANNEL_' + name.upper()])))
open(os.path.join(os.environ['TM_MODEL_DIR'], 'weights'), 'w').close()
"""
WAITS = "import time\nprint('begun', flush=True)\ntime.sleep(600)\n"


@pytest.fixture
def strict(desk):
    given = {"lr": 0.1, "name": "a b", "flag": ""}
    return TensorFlow(
        entry_point="train.py",
        source_dir=desk.script(STRICT),
        framework_version="1.14",
        hyperparameters=given,
        output_path=str(desk.folder / "out"),
    )


def test_fit_prints_output_and_status(strict, desk, capfd):
    strict.fit(desk.data("data", a="1"))

    output = capfd.readouterr().out
    assert 'args {"flag": "nothing", "lr": 0.1, "name": "a b"}\n' in output
    assert "training ['a']\n" in output
    assert "framework tensorflow 1.14.0\n" in output
    words = r"Training job: (.+)\n(?:.|\n)*? Starting - (?:.|\n)*? Downloading - (?:.|\n)*?"
    found = re.search(words + r" Training - (?:.|\n)*?args (?:.|\n)*? Completed - ", output)
    assert found, output
    name = found[1]
    assert re.fullmatch(r"tensorflow-\d{4}(-\d\d){5}-\d{3}", name)
    assert strict.latest_training_job.name == name
    assert re.search(rf"{name}: queued .* · fetch training .* · run .* s · upload .* s\n", output)
    model = desk.folder / "out" / name / "output" / "model.tar.gz"
    assert strict.model_data == model.as_uri()
    assert model.exists()


def test_fit_prints_where_outputs_and_model_are(strict, desk, capfd):
    strict.output_path = "out"
    strict.fit(desk.data("data", a="1"), job_name="with-a-model")

    printed = capfd.readouterr().out
    folder = desk.folder / "out"
    assert f"  output_path: this is the folder {folder} of this machine.\n" in printed
    model = folder / "with-a-model" / "output" / "model.tar.gz"
    assert printed.endswith(f"\nModel: {model.as_uri()}\n")


def test_fit_prints_what_arguments_mean_here(desk, capfd):
    estimator = TensorFlow(
        entry_point="train.py",
        source_dir=desk.script("print('begun')\n"),
        py_version="py2",
        framework_version="1.14",
        script_mode=False,
    )
    estimator.fit()

    printed = capfd.readouterr().out
    assert "  inputs: none were given; the job has no data channel" in printed
    assert "  py_version: 'py2': the script runs on Python 3; " in printed
    assert "  script_mode: False has no effect; " in printed
    assert "  framework_version: the script sees 1.14.0, with the names of TensorFlow" in printed
    assert "output_path:" not in printed
    assert printed.endswith("\nModel: none; the script wrote nothing to /opt/ml/model\n")


def test_usual_arguments_have_no_remark(desk, capfd):
    script = desk.script("print('begun')\n")
    estimator = TensorFlow(
        entry_point="train.py",
        source_dir=script,
        framework_version="1.15",
        output_path="cos://bucket/o",
    )
    estimator.fit(desk.data("data", a="1"), wait=False)

    printed = capfd.readouterr().out
    for name in ("inputs", "py_version", "script_mode", "framework_version", "output_path"):
        assert f"  {name}: " not in printed
    estimator.stop()


def test_channels_have_names(strict, desk, capfd):
    one, two, three = (desk.data(name, **{name: "1"}) for name in ("one", "two", "three"))
    strict.fit({"train": one, "test": FileInput(f"file://{two}"), "other": f"{three}/three"})

    output = capfd.readouterr().out
    assert "train ['one']\ntest ['two']\nother ['three']\n" in output


def test_without_inputs_there_is_no_channel(strict, capfd):
    strict.fit(job_name="no-channel")

    assert "training [" not in capfd.readouterr().out
    assert strict.latest_training_job.name == "no-channel"


@pytest.mark.parametrize(
    ("inputs", "field", "sentence"),
    [
        ("nowhere", "inputs", "does not exist, got 'nowhere'"),
        ({"train": 7}, "inputs.train", "must be a URI such as 'cos://bucket/path'"),
        ({"train": "ftp://x/y"}, "inputs.train", "must begin with one of cos://"),
        ({"": "cos://bucket/a"}, "inputs.", "must have a name"),
        (CosInput("cos://nobody/a"), "training", "there is nothing at 'cos://nobody/a'"),
    ],
)
def test_impossible_data_is_reported_before_anything_runs(strict, inputs, field, sentence):
    with pytest.raises(InvalidArguments) as caught:
        strict.fit(inputs)

    assert sentence in dict(caught.value.faults)[field]
    assert strict.latest_training_job is None


def test_refusals_of_server_use_sdk_names(desk):
    given = TensorFlow(
        entry_point="train.py",
        source_dir=desk.script(STRICT),
        train_instance_type="ML.GN8.4XLARGE112",
        base_job_name="名字",
        envs={"A B": "1"},
        hyperparameters={"a b": 1},
    )

    with pytest.raises(InvalidArguments) as caught:
        given.fit()

    reported = dict(caught.value.faults)
    assert "Did you mean 'ML.GN8.3XLARGE112'?" in reported["train_instance_type"]
    assert {"envs.A B", "hyperparameters.a b"} <= set(reported)


def test_unknown_instance_type_lists_known_ones(desk):
    given = TensorFlow(
        entry_point="train.py", source_dir=desk.script(STRICT), instance_type="p3.2xlarge"
    )

    with pytest.raises(ValueError, match=r"train_instance_type: .*Known: .*TI\.SMALL2\.1core2g"):
        given.fit()


def test_gpu_type_without_gpus_reports_cpu_run(strict, monkeypatch, capfd):
    strict.train_instance_type = "ML.GN8.3XLARGE112"
    strict.fit(wait=False)

    output = capfd.readouterr().out
    assert "train_instance_type: ML.GN8.3XLARGE112 is larger than this machine" in output
    assert (
        "gpus: 2 requested on each node, and this machine has no GPU: the job runs on CPU" in output
    )
    strict.stop()


@pytest.mark.parametrize(
    ("entry", "folder", "sentence"),
    [
        ("main.py", "code", "entry_point: no file 'main.py' was found in directory 'code'"),
        ("train.py", "nowhere", "source_dir: there is no directory 'nowhere'"),
        ("train.py", None, "entry_point: no file 'train.py' was found in directory"),
    ],
)
def test_code_that_is_not_there_is_reported(desk, entry, folder, sentence):
    desk.script(STRICT)

    with pytest.raises(InvalidArguments, match=re.escape(sentence)):
        TensorFlow(entry_point=entry, source_dir=folder).fit()


def test_a_script_alone_brings_the_modules_it_imports(desk, capfd):
    desk.script("import beside\nprint('from', beside.NAME)\n")
    desk.script("NAME = 'a module'\n", "beside.py")

    TensorFlow(entry_point="code/train.py").fit()

    assert "from a module\n" in capfd.readouterr().out


def test_data_inside_the_source_directory_is_no_code(desk, capfd):
    desk.script("import os\nprint('code', sorted(os.listdir('.')))\n")
    desk.data("code/data", big="1")

    TensorFlow(entry_point="train.py", source_dir="code").fit("code/data")

    assert "code ['train.py']\n" in capfd.readouterr().out


def test_last_state_of_progress_bar_is_printed(desk, capfd):
    text = "for n in range(3):\n    print('\\rstep', n, end='')\nprint()\n"

    TensorFlow(entry_point="train.py", source_dir=desk.script(text)).fit()

    assert "\nstep 2\n" in capfd.readouterr().out


def test_an_estimator_trains_again_and_again(strict, capfd):
    strict.fit()
    first = strict.latest_training_job.name
    strict.set_hyperparameters(lr=0.5)
    strict.fit()

    assert strict.latest_training_job.name != first
    assert '"lr": 0.5' in capfd.readouterr().out


def test_name_that_is_taken_is_not_taken_again(strict):
    strict.fit(job_name="only-once")

    with pytest.raises(Conflict, match="only-once"):
        strict.fit(job_name="only-once")


def test_name_taken_twice_is_generated_again(strict, monkeypatch):
    names = iter(["same", "same", "other"])
    monkeypatch.setattr(submitting, "made_up_name", lambda *_: next(names))

    strict.fit()
    strict.fit()

    assert strict.latest_training_job.name == "other"


def test_without_logs_only_the_phases_are_printed(strict, capfd):
    strict.fit(logs=False)

    output = capfd.readouterr().out
    assert "args {" not in output
    assert " Completed - Training Job completed\n" in output


def test_failure_raises_with_traceback_of_script(desk, capfd):
    text = "def train():\n    raise KeyError('no such column')\n\ntrain()\n"
    given = TensorFlow(entry_point="train.py", source_dir=desk.script(text))

    with pytest.raises(TrainingFailed) as caught:
        given.fit(job_name="fails")

    error = caught.value
    assert (error.job_name, error.status) == ("fails", "Failed")
    assert str(error).startswith("Error for fails. status Failed reason: KeyError: ")
    assert error.traceback.splitlines() == [
        "Traceback (most recent call last):",
        '  File "train.py", line 4, in <module>',
        "    train()",
        '  File "train.py", line 2, in train',
        "    raise KeyError('no such column')",
        "KeyError: 'no such column'",
    ]
    assert error.traceback in str(error)
    assert isinstance(error, ValueError)
    assert " Failed - Training Job failed\n" in capfd.readouterr().out
    assert Session().describe_training_job("fails")["TrainingJobStatus"] == "Failed"


def test_script_that_exits_has_no_traceback_and_cause(desk):
    given = TensorFlow(
        entry_point="train.py", source_dir=desk.script("import sys\nsys.exit('no data')\n")
    )

    with pytest.raises(TrainingFailed, match="no data") as caught:
        given.fit()

    assert caught.value.traceback == ""


def test_launcher_run_as_job_is_explained(desk):
    text = "from ti.tensorflow import TensorFlow\nTensorFlow(entry_point='train.py').fit()\n"

    with pytest.raises(TrainingFailed, match="runs as a job itself, where there is no server"):
        TensorFlow(entry_point="train.py", source_dir=desk.script(text)).fit()


def test_the_language_is_that_of_the_person(desk, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    given = TensorFlow(entry_point="train.py", source_dir=desk.script("import sys\nsys.exit(3)\n"))

    with pytest.raises(TrainingFailed, match="退出码"):
        given.fit()


def test_attach_prints_on_and_gives_the_estimator_back(strict, desk, capfd):
    strict.envs["MINE"] = "1"
    strict.fit(desk.data("data", a="1"), wait=False)
    name = strict.latest_training_job.name
    capfd.readouterr()

    found = TensorFlow.attach(training_job_name=name)

    output = capfd.readouterr().out
    assert "args {" in output
    assert " Completed - " in output
    assert found.latest_training_job.name == name
    assert found.hyperparameters == strict.hyperparameters
    assert (found.framework_version, found.entry_point) == ("1.14.0", "train.py")
    assert found.output_path == f"file://{desk.folder}/out"
    assert found.envs == {"MINE": "1"}
    assert found.model_data == strict.model_data
    found.fit()
    assert "args {" in capfd.readouterr().out


def test_a_long_output_is_read_with_few_questions(desk, monkeypatch, capfd):
    script = desk.script("for number in range(3000):\n    print('line', number)\n")
    TensorFlow(entry_point="train.py", source_dir=script).fit(logs=False, job_name="talks")
    session, asked = Session(), []
    job = session.client.job
    monkeypatch.setattr(session.client, "job", lambda name: asked.append(name) or job(name))

    TensorFlow.attach("talks", session)

    assert "line 2999\n" in capfd.readouterr().out
    assert len(asked) < 100


def test_attaching_to_failure_raises_and_looking_does_not(desk):
    given = TensorFlow(entry_point="train.py", source_dir=desk.script("1 / 0\n"))
    with pytest.raises(TrainingFailed):
        given.fit(job_name="divides")

    with pytest.raises(TrainingFailed, match="ZeroDivisionError"):
        TensorFlow.attach("divides")
    found = TensorFlow.attach("divides", wait=False)
    assert found.latest_training_job.status == "Failed"
    assert found.latest_training_job.describe()["FailureReason"].startswith("ZeroDivisionError")


def test_attach_knows_the_framework_of_a_job(desk, capfd):
    source = desk.script(STRICT)
    PyTorch(entry_point="train.py", source_dir=source).fit(job_name="plain")

    assert "framework pytorch None\n" in capfd.readouterr().out
    assert PyTorch.attach("plain", wait=False).latest_training_job.status == "Completed"
    assert Estimator.attach("plain", wait=False).runtime().framework == "pytorch"
    with pytest.raises(InvalidArguments, match=r"'plain' is a job of pytorch"):
        TensorFlow.attach("plain")


def test_there_is_nothing_to_attach_to(desk):
    with pytest.raises(NotFound, match="nobody"):
        TensorFlow.attach("nobody")


def test_stopping_is_no_failure(desk, capfd):
    given = TensorFlow(entry_point="train.py", source_dir=desk.script(WAITS))
    given.fit(wait=False)
    waiting = threading.Thread(target=given.latest_training_job.wait)
    waiting.start()

    given.stop()
    waiting.join(60)

    assert given.latest_training_job.status == "Stopped"
    assert " Stopped - Training Job stopped\n" in capfd.readouterr().out
    given.stop()


def test_logs_prints_what_was_written(strict, capfd):
    strict.fit(logs=False)
    capfd.readouterr()

    strict.logs()
    strict.logs(wait=False)

    assert capfd.readouterr().out.count("args {") == 2


def test_interrupt_leaves_job_and_reports_how_to_return(desk, capfd, monkeypatch):
    given = TensorFlow(entry_point="train.py", source_dir=desk.script(WAITS))
    given.fit(wait=False)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(given.ti_session.client, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        given.latest_training_job.wait(logs=False)

    name = given.latest_training_job.name
    output = capfd.readouterr().out
    assert f"attach(training_job_name={name!r})" in output
    assert given.latest_training_job.status == "InProgress"
    given.stop(wait=False)


def test_missing_service_feature_is_reported(desk, capfd):
    given = TensorFlow(
        entry_point="train.py",
        source_dir=desk.script(WAITS),
        train_volume_size=50,
        subnet_id="subnet-1",
    )
    given.fit(wait=False)
    given.stop(wait=False)

    output = capfd.readouterr().out
    assert "  train_volume_size: tasks use this machine's own disk.\n" in output
    assert "  subnet_id: tasks run in this machine's own network.\n" in output


def test_own_image_runs_script_instead_of_itself(desk, capfd):
    source = desk.script(STRICT)
    given = Estimator("team/tensorflow:1.14-py3", "role", 1, "local", source_dir=source)

    with pytest.raises(InvalidArguments, match="an image's own program cannot be run"):
        given.fit()
    given.entry_point = "train.py"
    given.fit()
    assert "framework tensorflow 1.14.0\n" in capfd.readouterr().out
    assert given.latest_training_job.name.startswith("tensorflow-")


def test_mpi_is_not_there(strict):
    strict.distributions = {"mpi": {"enabled": True, "processes_per_host": 2}}

    with pytest.raises(Unsupported, match="Horovod"):
        strict.fit()


def test_network_file_systems_are_not_there():
    with pytest.raises(Unsupported, match="network file systems"):
        FileSystemInput("cfs-1", "/", "cfs", "ro")


def test_only_a_fit_that_waits_has_a_tensorboard(strict):
    with pytest.raises(InvalidArguments, match="run_tensorboard_locally: needs wait=True"):
        strict.fit(wait=False, run_tensorboard_locally=True)


def test_data_is_uploaded_to_a_bucket(strict, desk, capfd):
    session = Session()
    uri = session.upload_data(desk.data("flowers", rose="1"), "my-bucket", "garden")
    (desk.folder / "one.txt").write_text("1")
    other = session.upload_data("one.txt")

    assert (uri, other) == ("cos://my-bucket/garden", "cos://danlu-ti/data")
    assert session.default_bucket() == "danlu-ti"
    strict.fit({"train": CosInput(uri), "test": other})
    assert "train ['rose']\ntest ['one.txt']\n" in capfd.readouterr().out
    with pytest.raises(InvalidArguments, match="path: there is no file or folder 'nowhere'"):
        session.upload_data("nowhere")


def test_a_session_lists_and_stops_jobs(desk):
    session = Session()
    given = TensorFlow(entry_point="train.py", source_dir=desk.script(WAITS), ti_session=session)
    given.fit(wait=False, job_name="to-stop")

    found = session.describe_training_jobs(limit=1)
    assert [job["TrainingJobName"] for job in found] == ["to-stop"]
    session.stop_training_job("to-stop")
    given.latest_training_job.wait(logs=False)
    assert session.describe_training_job("to-stop")["TrainingJobStatus"] == "Stopped"
    for ask in (session.get_monitor_data, session.search_log):
        with pytest.raises(Unsupported):
            ask("to-stop")
    with pytest.raises(Unsupported, match="filters"):
        session.describe_training_jobs([{"Name": "status"}])


def test_hyperparameters_reach_the_script_as_they_are(desk, capfd):
    text = "import os\nprint('hps', os.environ['SM_HPS'])\n"
    values = {"n": 3, "deep": {"b": [1, None]}, "s": "007", "ti_mine": 1}
    given = TensorFlow(entry_point="train.py", source_dir=desk.script(text), hyperparameters=values)
    given.fit()

    reported = json.loads(re.search(r"hps (.*)\n", capfd.readouterr().out)[1])
    assert reported == {"n": 3, "deep": {"b": [1, None]}, "s": "007"}


@pytest.mark.parametrize("folder", [True, False])
def test_fit_again_uses_fresh_code(desk, folder):
    code = Path(desk.script("print('first code')\n"))
    given = ("train.py", str(code)) if folder else (str(code / "train.py"), None)
    estimator = TensorFlow(entry_point=given[0], source_dir=given[1], framework_version="1.14")
    estimator.fit({}, logs=False)
    name = estimator.latest_training_job.name
    danlu = Path(sys.executable).with_name("danlu")

    def rerun(*words):
        done = subprocess.run([danlu, "rerun", name, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done

    assert "has changed" not in rerun().stderr
    (code / "train.py").write_text("print('second code')\n")
    stored = rerun()
    fresh = rerun("--fresh-code")

    assert f"has changed since {name} ran" in stored.stderr
    assert "first code\n" in stored.stdout
    assert "second code\n" in fresh.stdout
