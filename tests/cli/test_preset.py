import pytest


def test_run_makes_a_job_of_a_preset_model(danlu, client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    done = danlu(
        "run", "--preset", "resnet_v1_50", "--data-url", "obs://b/flowers", "--train-url", "out",
        "--checkpoint-url", "before/model.ckpt-9", "-p", "max_epoches=2",
    )  # fmt: skip

    assert done.code == 0
    assert client.requests == [
        {
            "preset": "resnet_v1_50",
            "dialect": "dls",
            "data_url": "obs://b/flowers",
            "train_url": (tmp_path / "out").as_uri(),
            "checkpoint_url": (tmp_path / "before/model.ckpt-9").as_uri(),
            "parameters": {"max_epoches": "2"},
        }
    ]
    assert client.archives == []


def test_places_may_be_running_parameters_of_manual(danlu, client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    danlu("run", "--preset", "lenet", "-p", "data_url=d", "-p", "checkpoint_url=c", "-p", "a=1")

    (request,) = client.requests
    assert request["data_url"] == (tmp_path / "d").as_uri()
    assert request["checkpoint_url"] == (tmp_path / "c").as_uri()
    assert request["parameters"] == {"a": "1"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--preset", "resnet_v1_51"], "Did you mean 'resnet_v1_50'?"),
        (["--preset", "help"], "Known: alexnet_v2, cifarnet, "),
        (["code", "--preset", "lenet"], "Both PATH 'code' and --preset lenet were given."),
        (["--algorithm", "a", "--preset", "lenet"], "Both --algorithm a and --preset lenet"),
        (["--preset", "lenet", "--dialect", "ti"], "--preset is a field of dls"),
        (["--preset", "lenet", "--module", "a.b"], "a field of dls"),
    ],
)
def test_what_is_wrong_is_reported_first(danlu, client, script, words, sentence):
    reported = danlu("run", *words)

    assert reported.code == 2
    assert sentence in reported.err
    assert client.requests == []


def test_a_job_file_may_name_a_preset_model(danlu, client, tmp_path):
    file = tmp_path / "job.toml"
    file.write_text(
        'preset = "lenet"\ndata_url = "digits"\ntrain_url = "obs://b/out"\n'
        "[parameters]\nlearning_rate = 1e-3\n"
    )

    assert danlu("submit", str(file)).code == 0

    assert client.requests == [
        {
            "preset": "lenet",
            "dialect": "dls",
            "data_url": (tmp_path / "digits").as_uri(),
            "train_url": "obs://b/out",
            "parameters": {"learning_rate": "1e-3"},
        }
    ]
