import pytest

from contracts.dialect import DialectContract
from danlu.dialects import dls
from danlu.errors import InvalidJob
from danlu.job.plan import Place

REQUEST = {"code": "s3://bucket/flowers-code", "boot_file": "train.py"}
FLOWERS = {**REQUEST, "data_url": "s3://bucket/flowers", "train_url": "s3://bucket/log"}
PEERS = {
    "ps": ("192.168.1.100:2222", "192.168.1.101:2222"),
    "worker": ("192.168.1.100:2223", "192.168.1.101:2223"),
}


class TestDls(DialectContract):
    @pytest.fixture
    def dialect(self):
        return dls

    @pytest.fixture
    def request_of(self):
        return REQUEST


def command(request, role="worker", index=0, **place):
    spec = dls.read(request)
    return dls.command(spec, Place(role, index, job_id="j1", **place))


def test_an_empty_data_set_still_reaches_the_script():
    """Manual, pitfall 2-4-3."""
    assert command(REQUEST).args[0] == "--data_url="


def test_data_and_output_precede_kept_empty_parameter():
    rows = {"lr": 0.01, "note": "", "flag": True, "name": "a b"}

    assert command({**FLOWERS, "parameters": rows, "urls": "all"}).args == (
        "--data_url=s3://bucket/flowers",
        "--train_url=s3://bucket/log",
        "--lr=0.01",
        "--note=",
        "--flag=true",
        "--name=a b",
        "--num_gpus=1",
    )


def test_channel_is_local_directory_unless_url():
    reported = command(FLOWERS)

    assert reported.args == (
        "--data_url=/home/work/inputs/data_url_0",
        "--train_url=/home/work/outputs/train_url_0",
        "--num_gpus=1",
    )
    assert [(fetch.uri, fetch.to) for fetch in reported.fetch[1:]] == [
        ("s3://bucket/flowers", "/home/work/inputs/data_url_0")
    ]
    assert [(push.path, push.uri) for push in reported.push] == [
        ("/home/work/outputs/train_url_0", "s3://bucket/log")
    ]


def test_folder_given_with_slash_reaches_script_with_slash():
    reported = command({**FLOWERS, "train_url": "s3://bucket/log/", "urls": "none"})

    assert reported.args[:2] == (
        "--data_url=/home/work/inputs/data_url_0",
        "--train_url=/home/work/outputs/train_url_0/",
    )
    assert [push.path for push in reported.push] == ["/home/work/outputs/train_url_0"]


def test_what_is_url_is_neither_fetched_nor_mirrored():
    reported = command({**FLOWERS, "urls": "data_url,train_url"})

    assert reported.args[:2] == ("--data_url=s3://bucket/flowers", "--train_url=s3://bucket/log")
    assert [fetch.what for fetch in reported.fetch] == ["code"]
    assert reported.push == ()
    assert reported.folders == ("/cache",)


@pytest.mark.parametrize(
    ("urls", "found"),
    [("", "auto"), ("auto", "auto"), ("none", ""), ("all", "data_url,train_url"),
     ("train_url", "train_url")],
)  # fmt: skip
def test_user_can_choose_channels_passed_as_urls(urls, found):
    asked = {"urls": urls} if urls else {}

    assert dls.read({**FLOWERS, **asked}).options["urls"] == found


def test_a_url_that_is_no_channel_is_refused():
    with pytest.raises(InvalidJob, match="urls: 'dta_url' is not an input or output of this job"):
        dls.read({**FLOWERS, "urls": "dta_url"})


def test_two_nodes_get_flags_of_manual():
    """MoXing manual, section 2.3: the four command lines of its example."""
    request = {**REQUEST, "data_url": "s3://b/d", "nodes": 2, "gpus": 4, "urls": "all"}
    four = {"gpus": ("0", "1", "2", "3"), "peers": PEERS}
    hosts = (
        "--ps_hosts=192.168.1.100:2222,192.168.1.101:2222",
        "--worker_hosts=192.168.1.100:2223,192.168.1.101:2223",
    )

    assert [(r.name, r.count, r.decides) for r in dls.roles(dls.read(request))] == [
        ("ps", 2, False),
        ("worker", 2, True),
    ]
    for index in (0, 1):
        assert command(request, "worker", index, **four).args == (
            "--data_url=s3://b/d",
            "--job_name=worker",
            f"--task_index={index}",
            *hosts,
            "--num_gpus=4",
        )
        assert command(request, "ps", index, peers=PEERS).args == (
            "--data_url=s3://b/d",
            "--job_name=ps",
            f"--task_index={index}",
            *hosts,
        )


@pytest.mark.parametrize("flag", ["job_name", "task_index", "ps_hosts", "worker_hosts"])
def test_cluster_flag_is_refused_as_parameter(flag):
    request = {**REQUEST, "parameters": {flag: "0"}}

    with pytest.raises(InvalidJob, match=f"parameters.{flag}: is given to each task by the serv"):
        dls.read({**request, "nodes": 2})

    assert dls.read(request).params == ((flag, "0"),)


def test_single_node_gets_num_gpus_only():
    assert command(REQUEST, gpus=("0", "1")).args == ("--data_url=", "--num_gpus=2")


def test_without_gpus_their_number_is_one():
    """Manual, section 2.3: on CPU the flag is 1."""
    assert command(REQUEST).args == ("--data_url=", "--num_gpus=1")
    assert command(REQUEST, peers=PEERS).args[-1] == "--num_gpus=1"
    assert not any("num_gpus" in word for word in command(REQUEST, "ps", peers=PEERS).args)


def test_flag_of_the_user_is_passed_once():
    reported = command({**REQUEST, "parameters": {"num_gpus": "1"}}, gpus=("0", "1"))

    assert reported.args == ("--data_url=", "--num_gpus=1")


def test_the_project_directory_can_be_imported_from():
    """Manual, pitfall 2-4-2."""
    reported = command({**REQUEST, "boot_file": "tools/train.py"})
    code = "/home/work/user-job-dir/flowers-code"

    assert reported.run == f"{code}/tools/train.py"
    assert reported.sys_path == (f"{code}/tools", code)


def test_scratch_and_home_are_the_jobs_own():
    assert command(FLOWERS).private == ("/cache", "/home/work")
    assert "/cache" in command(FLOWERS).folders


def test_the_environment_is_that_of_the_first_generation():
    env = command(FLOWERS, index=1, peers=PEERS, host="192.168.1.101").env

    assert env["HOME"] == "/home/work"
    assert (env["DLS_TASK_INDEX"], env["DLS_TASK_NUMBER"]) == ("1", "2")
    assert env["DLS_APP_URL"] == "s3://bucket/flowers-code"
    assert (env["DLS_DATA_URL"], env["DLS_TRAIN_URL"]) == ("s3://bucket/flowers", "s3://bucket/log")
    assert env["BATCH_JOB_ID"] == "j1"
    assert env["BATCH_TASK_CURRENT_HOST_IP"] == "192.168.1.101"
    assert env["BATCH_CUSTOM1_HOSTS"] == "192.168.1.101:2223"
    assert (env["S3_USE_HTTPS"], env["S3_VERIFY_SSL"]) == ("1", "0")
    assert "S3_ENDPOINT" not in env


def test_address_variable_has_name_of_job():
    env = command({**FLOWERS, "name": "flowers"}, host="10.0.0.5", port=2222).env

    assert env["BATCH_flowers.0_HOSTS"] == "10.0.0.5:2222"
    assert "BATCH_CUSTOM0_HOSTS" not in env


def test_a_users_variable_wins():
    assert command({**REQUEST, "env": {"HOME": "/x"}}).env["HOME"] == "/x"


def test_a_parameter_server_leaves_the_output_alone():
    assert command(FLOWERS, "ps", peers=PEERS, decides=False).push == ()


def test_all_faults_of_request_are_reported_at_once():
    with pytest.raises(InvalidJob) as caught:
        dls.read({"boot_file": "run.sh", "code_dir": "here", "inputs": {}, "data_url": "there"})

    assert caught.value.faults[:3] == (
        ("code_dir", "must be a URI such as obs://bucket/path, got 'here'."),
        ("data_url", "must be a URI such as obs://bucket/path, got 'there'."),
        ("boot_file", "'run.sh' is not a Python file; DLS starts no other."),
    )
    assert caught.value.faults[3][0] == "inputs"


def test_data_url_may_not_come_as_parameter():
    with pytest.raises(InvalidJob, match="is the name of an input or output"):
        dls.read({**REQUEST, "parameters": {"data_url": "x"}})
