import pytest

JOB = """
dialect = "modelarts"
name = "mnist"
code = "code"
data_url = "data"
train_url = "obs://bucket/out"
timeout = 1.5
secrets = ["API_KEY"]
[parameters]
learning_rate = 1e-3
max_steps = 1_000
augment = true
note = ""
"""


@pytest.fixture
def job(script, tmp_path, monkeypatch):
    monkeypatch.setenv("API_KEY", "s3cret")
    monkeypatch.chdir("/")

    def write(text=JOB):
        file = tmp_path / "job.toml"
        file.write_text(text, encoding="utf-8")
        return str(file)

    return write


def test_a_job_file_is_read_relative_to_itself(danlu, client, job, tmp_path):
    result = danlu("submit", job())

    request = client.requests[0]
    assert result.out == "mnist\n"
    assert request["data_url"] == f"file://{tmp_path}/data"
    assert request["train_url"] == "obs://bucket/out"
    assert request["boot_file"] == "train.py"
    assert request["timeout"] == 1.5
    assert client.secrets == [{"API_KEY": "s3cret"}]


def test_numbers_reach_the_script_as_they_were_written(danlu, client, job):
    danlu("submit", job())

    assert client.requests[0]["parameters"] == {
        "learning_rate": "1e-3",
        "max_steps": 1000,
        "augment": True,
        "note": "",
    }


def test_quiet_prints_the_id_alone(danlu, client, job):
    result = danlu("submit", "-q", job())

    assert result.out.strip() == client.job("mnist")["id"]
    assert result.err == ""


def test_a_name_on_the_command_line_wins(danlu, client, job):
    danlu("submit", job(), "--name", "other")

    assert client.requests[0]["name"] == "other"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name =", "is not TOML"),
        ('name = "x"', "names no code"),
        ('code = "code"\nsecrets = "API_KEY"', "secrets must be a list of names, got 'API_KEY'"),
        ('code = "code"\nboot_file = 3', "boot_file must be text, got 3"),
        ('code = "nowhere"', "There is no file or directory"),
    ],
)
def test_wrong_job_file_is_reported_in_one_line(danlu, client, job, text, message):
    result = danlu("submit", job(text))

    assert result.code == 2
    assert message in result.err
    assert client.requests == []


def test_a_file_that_is_not_there_is_reported(danlu, tmp_path):
    result = danlu("submit", str(tmp_path / "none.toml"))

    assert result.code == 2
    assert "cannot be read: No such file or directory" in result.err


def test_a_windows_editor_may_have_written_it(danlu, client, job, tmp_path):
    file = job()
    (tmp_path / "job.toml").write_bytes(b"\xef\xbb\xbf" + JOB.encode())

    assert danlu("submit", file).code == 0


@pytest.mark.parametrize("written", ["1.10", "'1.10'"])
def test_version_reaches_server_as_it_was_written(danlu, client, job, written):
    danlu("submit", job(f"framework_version = {written}\nmax_steps = 5\n{JOB}"))

    assert client.requests[0]["framework_version"] == "1.10"
    assert client.requests[0]["max_steps"] == 5


def test_a_job_file_may_be_rehearsed(danlu, client, job):
    danlu("submit", job(f"max_steps = 500\n{JOB}"), "--rehearse")

    assert client.requests[0]["max_steps"] == 3
    assert client.requests[0]["rehearse"] is True
