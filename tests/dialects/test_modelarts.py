from dataclasses import replace

import pytest

from contracts.dialect import DialectContract
from danlu.dialects import modelarts
from danlu.errors import InvalidJob
from danlu.job.plan import Place

REQUEST = {"code": "obs://bucket/mnist-code", "boot_file": "train.py"}
MNIST = {
    **REQUEST,
    "data_url": "obs://bucket/mnist",
    "train_url": "obs://bucket/out",
    "parameters": {"max_steps": 1000},
}


class TestModelArts(DialectContract):
    @pytest.fixture
    def dialect(self):
        return modelarts

    @pytest.fixture
    def request_of(self):
        return REQUEST


def command(request, **place):
    spec = modelarts.read(request)
    return modelarts.command(spec, Place("worker", 0, job_id="j1", **place))


def test_channels_become_local_directories_with_the_services_names():
    assert command(MNIST).args == (
        "--max_steps=1000",
        "--data_url=/home/ma-user/modelarts/inputs/data_url_0/",
        "--train_url=/home/ma-user/modelarts/outputs/train_url_0/",
    )


def test_urls_of_folders_end_with_one_slash():
    request = {**MNIST, "data_url": "obs://bucket/mnist/", "train_url": "obs://bucket/out"}

    reported = command({**request, "urls": "all"})

    assert reported.args[1:] == ("--data_url=obs://bucket/mnist/", "--train_url=obs://bucket/out/")


@pytest.mark.parametrize(
    ("uri", "local"),
    [
        ("obs://bucket/d/mnist.npz", "/home/ma-user/modelarts/inputs/data_url_0/mnist.npz"),
        ("file:///d/my%20data.csv", "/home/ma-user/modelarts/inputs/data_url_0/my data.csv"),
    ],
)
def test_input_of_one_file_is_passed_as_file(uri, local):
    spec = modelarts.read({**MNIST, "data_url": uri, "urls": "none"})
    options = {**spec.options, "files": "data_url"}
    place = Place("worker", 0, job_id="j1")

    as_path = modelarts.command(replace(spec, options=options), place)
    as_url = modelarts.command(replace(spec, options={**options, "urls": "data_url"}), place)

    assert as_path.args[1] == f"--data_url={local}"
    assert as_path.fetch[1].to == "/home/ma-user/modelarts/inputs/data_url_0"
    assert as_url.args[1] == f"--data_url={uri}"


def test_only_requested_arguments_are_passed():
    assert command(REQUEST).args == ()


def test_input_and_output_names_are_free():
    request = {
        **REQUEST,
        "inputs": {"images": "obs://b/i", "labels": "obs://b/l"},
        "outputs": {"model": "obs://b/m"},
    }

    assert command(request).args == (
        "--images=/home/ma-user/modelarts/inputs/images_0/",
        "--labels=/home/ma-user/modelarts/inputs/labels_0/",
        "--model=/home/ma-user/modelarts/outputs/model_0/",
    )


def test_channel_can_be_announced_by_environment_instead():
    reported = command({**MNIST, "from_environment": ["data_url"]})

    assert reported.env["data_url"] == "/home/ma-user/modelarts/inputs/data_url_0/"
    assert not any(word.startswith("--data_url") for word in reported.args)


@pytest.mark.parametrize(
    ("value", "word"),
    [("", "--v="), ("a b", "--v=a b"), (True, "--v=true"), (0.1, "--v=0.1"), ("x=y", "--v=x=y")],
)
def test_a_parameter_is_one_word_whatever_it_holds(value, word):
    assert command({**REQUEST, "parameters": {"v": value}}).args == (word,)


def test_code_keeps_last_level_of_its_path():
    reported = command(MNIST)

    assert reported.run == "/home/ma-user/modelarts/user-job-dir/mnist-code/train.py"
    assert reported.cwd == "/home/ma-user/modelarts/user-job-dir/mnist-code"
    assert reported.fetch[0].to == "/home/ma-user/modelarts/user-job-dir/mnist-code"


def test_local_code_is_named_by_its_origin():
    request = {**REQUEST, "code": "danlu://code/ab.tar.gz", "code_origin": "file:///w/my%20code"}

    assert command(request).cwd.endswith("/user-job-dir/my code")
    assert command(request).fetch[0].archive


def test_boot_files_directory_and_code_directory_are_importable():
    reported = command({**REQUEST, "boot_file": "tools/train.py"})
    code = "/home/ma-user/modelarts/user-job-dir/mnist-code"

    assert reported.sys_path == (f"{code}/tools", code)
    assert reported.env["LD_LIBRARY_PATH"] == code


def test_boot_file_may_be_a_whole_uri():
    request = {**REQUEST, "boot_file": "obs://bucket/mnist-code/a/train.py"}

    assert modelarts.read(request).entry == "a/train.py"


@pytest.mark.parametrize(
    "boot_file", ["/etc/x.py", "../x.py", "a/../../x.py", "obs://other/train.py"]
)
def test_boot_file_outside_code_directory_is_refused(boot_file):
    with pytest.raises(InvalidJob, match="must be inside the code directory"):
        modelarts.read({**REQUEST, "boot_file": boot_file})


def test_the_environment_is_the_services():
    env = command(MNIST).env

    assert env["MA_HOME"] == env["HOME"] == "/home/ma-user"
    assert env["MA_JOB_DIR"] == "/home/ma-user/modelarts/user-job-dir"
    assert env["MA_MOUNT_PATH"] == "/home/ma-user/modelarts"
    assert env["MA_LOG_DIR"] == "/home/ma-user/modelarts/log"
    assert env["MA_CURRENT_INSTANCE_NAME"] == "modelarts-job-j1-worker-0"
    assert (env["MA_NUM_HOSTS"], env["VC_TASK_INDEX"], env["MA_NUM_GPUS"]) == ("1", "0", "0")


def test_variables_of_the_first_generation_are_there_too():
    env = command(MNIST).env

    assert (env["DLS_TASK_INDEX"], env["DLS_TASK_NUMBER"]) == ("0", "1")
    assert env["DLS_APP_URL"] == "obs://bucket/mnist-code"
    assert env["DLS_DATA_URL"] == "obs://bucket/mnist"
    assert env["DLS_TRAIN_URL"] == "obs://bucket/out"
    assert (env["BATCH_JOB_ID"], env["BATCH_TASK_CURRENT_INSTANCE"]) == ("j1", "worker-0")


def test_a_users_variable_wins():
    assert command({**REQUEST, "env": {"MA_HOME": "/x"}}).env["MA_HOME"] == "/x"


def test_scratch_and_home_are_the_jobs_own():
    assert command(MNIST).private == ("/cache", "/home/ma-user")
    assert "/cache" in command(MNIST).folders


def test_two_nodes_are_ps_and_worker_on_each():
    spec = modelarts.read({**MNIST, "nodes": 2, "gpus": 4})
    peers = {"ps": ("10.0.0.1:1", "10.0.0.2:1"), "worker": ("10.0.0.1:2", "10.0.0.2:2")}
    place = Place("worker", 1, gpus=("0", "1", "2", "3"), peers=peers)

    assert [(r.name, r.count, r.decides) for r in modelarts.roles(spec)] == [
        ("ps", 2, False),
        ("worker", 2, True),
    ]
    assert modelarts.command(spec, place).args[3:] == (
        "--job_name=worker",
        "--task_index=1",
        "--ps_hosts=10.0.0.1:1,10.0.0.2:1",
        "--worker_hosts=10.0.0.1:2,10.0.0.2:2",
        "--num_gpus=4",
    )


@pytest.mark.parametrize("flag", ["job_name", "task_index", "ps_hosts", "worker_hosts"])
def test_cluster_flag_is_refused_as_parameter(flag):
    request = {**MNIST, "parameters": {flag: "0"}}

    with pytest.raises(InvalidJob, match=f"parameters.{flag}: is given to each task by the serv"):
        modelarts.read({**request, "nodes": 2})

    assert modelarts.read(request).params == ((flag, "0"),)


def test_a_parameter_server_leaves_the_outputs_alone():
    spec = modelarts.read({**MNIST, "nodes": 2})

    assert modelarts.command(spec, Place("ps", 0, decides=False)).push == ()


def test_all_faults_of_request_are_reported_at_once():
    with pytest.raises(InvalidJob) as caught:
        modelarts.read({"boot_file": "run.sh", "code": "", "parameter": {}, "data_url": "here"})

    assert caught.value.faults == (
        ("code_dir", "must be the URI of the code directory."),
        ("boot_file", "'run.sh' is not a Python file; ModelArts starts no other."),
        ("data_url", "must be a URI such as obs://bucket/path, got 'here'."),
        ("parameter", "is not a field. Did you mean 'parameters'?"),
    )


@pytest.mark.parametrize("name", ["max steps", "", "a" * 65, "步数", "x=y"])
def test_a_parameter_that_is_no_flag_is_refused(name):
    with pytest.raises(InvalidJob, match="is not a flag"):
        modelarts.read({**REQUEST, "parameters": {name: "1"}})


def test_a_parameter_may_not_hide_a_channel():
    with pytest.raises(InvalidJob, match="is the name of an input or output"):
        modelarts.read({**MNIST, "parameters": {"data_url": "x"}})


def test_requirements_of_code_directory_are_installed():
    reported = command({**REQUEST, "boot_file": "tools/train.py"})
    code = "/home/ma-user/modelarts/user-job-dir/mnist-code"

    assert [(item.path, item.optional) for item in reported.install] == [
        (f"{code}/pip-requirements.txt", False),
        (f"{code}/requirements.txt", True),
        (f"{code}/tools/pip-requirements.txt", False),
        (f"{code}/tools/requirements.txt", True),
    ]
    assert not any(item.package for item in reported.install)


def test_an_output_may_begin_with_what_is_there():
    reported = command({**MNIST, "outputs": {"log": "obs://b/l"}, "predownload": ["train_url"]})

    assert {push.what: push.restore for push in reported.push} == {"train_url": True, "log": False}
    with pytest.raises(InvalidJob, match="predownload: 'data_url' is not an output"):
        modelarts.read({**MNIST, "predownload": ["data_url"]})


def test_channel_copied_by_script_is_passed_as_url():
    reported = command({**MNIST, "urls": "data_url"})

    assert reported.args[1:] == (
        "--data_url=obs://bucket/mnist/",
        "--train_url=/home/ma-user/modelarts/outputs/train_url_0/",
    )
    assert [fetch.what for fetch in reported.fetch] == ["code"]
