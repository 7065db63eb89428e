"""The command line of each service: its own fields and its file to start."""

import io
import shutil
import tarfile

import pytest

FOUR = "\n".join(
    f"def {name}(*args): pass"
    for name in ("model_fn", "train_input_fn", "eval_input_fn", "serving_input_receiver_fn")
)


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    """A folder with a trainer package; the person stands beside it."""
    package = tmp_path / "work" / "trainer"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "task.py").write_text("print('x')\n")
    (tmp_path / "work" / "setup.py").write_text("from setuptools import setup\nsetup()\n")
    (tmp_path / "work" / "notes.txt").write_text("not code")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "work"


def names_in(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        return sorted(packed.getnames())


def test_the_line_of_kdl(danlu, client, trainer):
    danlu("run", "work/", "--dialect", "kdl", "--module", "trainer.task",
          "--", "--max_epochs", "100", "--name", "a b", "--checkpoint_path",
          "ks3://bucket/ckpt")  # fmt: skip

    request = client.requests[0]
    assert (request["dialect"], request["module"]) == ("kdl", "trainer.task")
    assert request["job_args"] == (
        "--max_epochs 100 --name 'a b' --checkpoint_path ks3://bucket/ckpt"
    )


def test_folder_of_package_alone_is_its_module(danlu, client, trainer):
    (trainer / "setup.py").unlink()

    danlu("run", "work/trainer", "--dialect", "kdl")
    danlu("run", "work/trainer", "--dialect", "kdl", "--module", "trainer.task")

    assert [request["module"] for request in client.requests] == ["trainer.task"] * 2


def test_the_line_of_modelarts(danlu, client, script):
    danlu("run", "code/", "--dialect", "modelarts", "--boot-file", "train.py", "--data-url",
          "obs://bucket/mnist", "--train-url", "obs://bucket/out", "-p", "max_steps=1000",
          "--input", "i=obs://bucket/i", "--output", "o=obs://bucket/o", "--predownload", "o",
          "--urls", "none")  # fmt: skip

    request = client.requests[0]
    assert request["boot_file"] == "train.py"
    assert request["inputs"] == {"i": "obs://bucket/i"}
    assert request["predownload"] == ["o"]
    assert request["urls"] == "none"


def test_the_line_of_dls(danlu, client, script):
    danlu("run", "code/", "--dialect", "dls", "--boot-file", "train.py", "--data-url",
          "s3://bucket/flowers", "--train-url", "s3://bucket/log", "--nodes", "2",
          "--gpus", "4")  # fmt: skip

    request = client.requests[0]
    assert (request["dialect"], request["boot_file"]) == ("dls", "train.py")
    assert (request["nodes"], request["gpus"]) == (2, 4)


def test_the_line_of_ti(danlu, client, script, tmp_path):
    danlu("run", "code/", "--dialect", "ti", "--entry-point", "train.py", "--channel",
          "train=cos://bucket/train", "--channel", "here=data", "--output-path",
          "cos://bucket/out", "-p", "lr=0.1")  # fmt: skip

    request = client.requests[0]
    assert (request["dialect"], request["entry_point"]) == ("ti", "train.py")
    assert request["channels"] == {
        "train": "cos://bucket/train",
        "here": f"file://{tmp_path}/data",
    }
    assert request["output_path"] == "cos://bucket/out"
    assert request["parameters"] == {"lr": "0.1"}


def test_the_line_of_modelmaker(danlu, client, script, tmp_path):
    (script / "model.py").write_text(FOUR)

    danlu("run", "code/model.py", "--dialect", "modelmaker", "--data", "data/",
          "-p", "train_max_steps=200")  # fmt: skip

    request = client.requests[0]
    assert (request["dialect"], request["model_file"]) == ("modelmaker", "model.py")
    assert request["data"] == f"file://{tmp_path}/data"


def test_model_of_directory_is_file_with_four_functions(danlu, client, script):
    (script / "linear.py").write_text(FOUR)
    (script / "train.py").write_text("import linear\n")

    result = danlu("run", "code/", "--data", "data/")

    assert "dialect: modelmaker (only it has --data)" in result.err
    assert client.requests[0]["model_file"] == "linear.py"


@pytest.mark.parametrize(
    ("words", "dialect"),
    [
        (("--module", "trainer.task"), "kdl"),
        (("--prepare", "pip list"), "kdl"),
        (("--worker-count", "2"), "kdl"),
        (("--channel", "train=cos://b/t"), "ti"),
        (("--input", "i=obs://b/i", "--predownload", "o", "--output", "o=obs://b/o"), "modelarts"),
    ],
)
def test_field_that_one_service_has_reports_service(danlu, client, script, words, dialect):
    result = danlu("run", "code/train.py", *words)

    assert result.code == 0, result.err
    assert f"dialect: {dialect} (only it has " in result.err
    assert client.requests[0]["dialect"] == dialect


@pytest.mark.parametrize(
    ("dialect", "words", "text"),
    [
        ("modelarts", ("--module", "a.b"), "--module is a field of kdl"),
        ("modelarts", ("--channel", "a=cos://b/c"), "--channel is a field of ti"),
        ("kdl", ("--data-url", "x"), "--data-url is a field of modelarts, dls"),
        (
            "kdl",
            ("--boot-file", "x.py"),
            "--boot-file is a field of modelarts, dls, ti, modelmaker",
        ),
        ("dls", ("--input", "a=obs://b/c"), "--input is a field of modelarts, ti"),
        ("ti", ("--data", "x"), "--data is a field of modelmaker"),
        ("modelmaker", ("--finish", "x"), "--finish is a field of kdl"),
        ("dls", ("--", "x"), "-- ARGS is a field of kdl"),
    ],
)
def test_field_of_another_service_is_refused_by_name(danlu, client, script, dialect, words, text):
    result = danlu("run", "code/train.py", "--dialect", dialect, *words)

    assert result.code == 2
    assert f"{text}; this job is one of {dialect}" in result.err
    assert client.requests == []


def test_fields_of_two_services_are_both_named(danlu, script):
    result = danlu("run", "code", "--module", "a.b", "--data-url", "obs://b/c")

    assert result.code == 2
    assert "--module is a field of kdl, --data-url one of modelarts, dls" in result.err


def test_only_task_of_package_is_its_module(danlu, client, trainer):
    result = danlu("run", "work")

    assert "dialect: kdl (setup.py beside a package with a task.py)" in result.err
    assert client.requests[0]["module"] == "trainer.task"
    assert names_in(client.archives[0]) == [
        "notes.txt", "setup.py", "trainer/__init__.py", "trainer/task.py",
    ]  # fmt: skip


def test_package_named_by_itself_comes_with_its_setup(danlu, client, trainer):
    danlu("run", "work/trainer/", "--dialect", "kdl", "--module", "trainer.task")

    assert client.requests[0]["module"] == "trainer.task"
    assert names_in(client.archives[0]) == ["setup.py", "trainer/__init__.py", "trainer/task.py"]


def test_a_source_distribution_is_sent_as_it_is(danlu, client, trainer, tmp_path):
    shutil.copytree(trainer, tmp_path / "trainer-1.0")
    path = shutil.make_archive(str(tmp_path / "trainer-1.0"), "gztar", tmp_path, "trainer-1.0")

    result = danlu("run", path)

    assert result.code == 0, result.err
    assert (client.requests[0]["dialect"], client.requests[0]["module"]) == ("kdl", "trainer.task")
    assert "code_origin" not in client.requests[0]


def test_a_package_without_a_task_needs_its_module(danlu, trainer):
    (trainer / "trainer" / "task.py").rename(trainer / "trainer" / "main.py")

    result = danlu("run", "work", "--dialect", "kdl")

    assert result.code == 2
    assert "needs --module" in result.err


def test_several_tasks_are_named(danlu, trainer):
    shutil.copytree(trainer / "trainer", trainer / "other")

    result = danlu("run", "work", "--dialect", "kdl")

    assert "Its modules: other.task, trainer.task" in result.err


def test_choice_is_offered_by_services_own_option(danlu, script):
    (script / "main.py").write_text("")

    result = danlu("run", "code", "--dialect", "ti")

    assert "Choose with --entry-point: main.py, train.py" in result.err


def test_a_job_file_of_any_service_is_understood(danlu, client, trainer, tmp_path):
    (tmp_path / "job.toml").write_text(
        'dialect = "kdl"\ntrainer_uri = "work"\nmodule_name = "trainer.task"\n'
        'job_args = "--max_epochs 100"\n'
    )

    result = danlu("submit", "job.toml")

    assert result.code == 0, result.err
    assert client.requests[0]["module"] == "trainer.task"
    assert client.requests[0]["job_args"] == "--max_epochs 100"


def test_dialect_of_job_file_is_detected(danlu, client, script):
    (script / "train.py").write_text("mox.run(x)")
    (script.parent / "job.toml").write_text('code = "code"\n')

    assert "dialect: dls (train.py has mox.run)" in danlu("submit", "job.toml").err

    (script.parent / "job.toml").write_text('code = "code"\nchannels = {train = "cos://b/t"}\n')

    assert "dialect: ti (only it has --channel)" in danlu("submit", "job.toml").err


def test_job_file_refuses_field_of_another_service(danlu, client, script):
    (script.parent / "job.toml").write_text('dialect = "dls"\ncode = "code"\nworking_dir = "x"\n')

    result = danlu("submit", "job.toml")

    assert result.code == 2
    assert "working_dir is a field of modelarts; this job is one of dls" in result.err


def test_plan_shows_packages_and_commands_around_script(danlu, client, script):
    client.around = True

    out = danlu("run", "code", "--train-url", "obs://b/o", "--dry-run").out

    assert "/code (package)" in out
    assert "pip list" in out
    assert "rm -r scratch" in out
    assert "/out/train_url  →  obs://b/o/model.tar.gz  (begins with what is there)" in out
