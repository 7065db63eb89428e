"""Routes of what a job has left, over the real service: bounded, and nothing beside its files."""

from types import SimpleNamespace

import pytest
from http_requests import Asker

from contracts.fake_executor import ClockworkExecutor
from danlu.job.kept_files import KeptFile, KeptFiles
from danlu.server.app import create_app
from danlu.server.guard import Auth
from danlu.service.jobs.cleanup import JobCleanup
from danlu.service.jobs.secrets import SecretFiles
from danlu.service.jobs.supervisor import Supervisor
from danlu.service.service import Service
from danlu.storage.locate import Stores

MODEL = bytes(range(256)) * (5 << 12)  # 5 MiB: more than one answer holds


@pytest.fixture
def ask(settings, new_records):
    records, secrets = new_records(), SecretFiles(settings.home / "secrets")
    executor = ClockworkExecutor(settings.jobs)
    service = Service(records, executor, settings, secrets, wake=lambda: None)
    ending = JobCleanup(records, executor, secrets, settings)
    stores = Stores.of(settings)
    stores.at("obs://bucket/code").storage.write("code/train.py", b"print(1)")
    request = {"dialect": "modelarts", "code": "obs://bucket/code", "boot_file": "train.py"}
    job = service.submit({**request, "name": "mnist", "train_url": "obs://bucket/out"})
    supervisor = Supervisor(records, executor, settings, secrets, ending)
    supervisor.tick()
    stores.at("obs://bucket/out").storage.write("out/model.pb", MODEL)
    folder = settings.jobs / job.id / "1/worker-0/kept"
    folder.mkdir(parents=True)
    (folder / "model.h5").write_bytes(b"a model")
    kept = KeptFiles((KeptFile("model.h5", 7, 1.0, only=True),), until=9e9)
    executor.files(job.id, 1, "worker-0").write_kept(kept)
    executor.end(job.id, 1, "worker-0")
    supervisor.tick()
    return Asker(create_app(SimpleNamespace(service=service), settings, Auth()), local=True)


def read(ask, file):
    data = b""
    while len(data) < file["size"]:
        query = {"source": file["source"], "key": file["key"], "offset": len(data)}
        piece = ask("GET", "/v1/jobs/mnist/files/content", params=query)
        assert piece.status_code == 200
        assert 0 < len(piece.content) <= 4 << 20
        data += piece.content
    return data


def test_every_file_is_listed_in_bounded_answers(ask):
    found = ask("GET", "/v1/jobs/mnist/files").json()

    assert {file["path"]: read(ask, file) for file in found["files"]} == {
        "train_url/model.pb": MODEL,
        "working-directory/model.h5": b"a model",
    }
    assert found["kept"] == {"files": 1, "size": 7, "models": 1, "until": 9e9, "urls": []}
    assert ask("GET", "/v1/jobs/mnist/kept").json()["kept"] == found["kept"]


@pytest.mark.parametrize("key", ["../kept.json", "/etc/passwd", "../../../../../token", "none"])
@pytest.mark.parametrize("source", ["kept/1/worker-0", "train_url", "kept/1/..", "nothing"])
def test_nothing_else_is_read(ask, source, key):
    answer = ask("GET", "/v1/jobs/mnist/files/content", params={"source": source, "key": key})

    assert answer.status_code == 404


def test_only_copy_of_model_needs_discard(ask):
    refused = ask("DELETE", "/v1/jobs/mnist")
    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "only_copy"

    assert ask("DELETE", "/v1/jobs/mnist?discard=true").status_code == 204

    assert ask("GET", "/v1/jobs/mnist").status_code == 404


def test_stored_job_has_nothing_to_store_again(ask):
    answer = ask("POST", "/v1/jobs/mnist/store", json={})

    assert answer.json() == {"running": False, "done": 0, "total": 0, "error": ""}
