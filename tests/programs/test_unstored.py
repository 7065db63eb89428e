"""A store that is away when a script ends: the only copy of the outputs is named, guarded, and
stored later."""

from pathlib import Path

import pytest

from contracts.s3_server import ACCESS, SECRET, SmallS3, error, serve

WRITES = """\
import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument('--train_url')
args = parser.parse_args()
open(os.path.join(args.train_url, 'model.h5'), 'w').write('a trained model')
print('written', flush=True)
"""


class Store(SmallS3):
    """Takes no model while it is ``away``; the try at the submit goes well."""

    away = True

    def __init__(self):
        super().__init__("bucket")
        self.faults.append(self._refuse)

    def _refuse(self, request):
        return error(503, "SlowDown") if self.away and "model" in request.key else None

    def stored(self):
        """Return what jobs stored, without the platform's own folder."""
        items = self.buckets["bucket"].items()
        return {key: item.data for key, item in items if "/.danlu/" not in key}


@pytest.fixture
def store(alone):
    service = Store()
    with serve(service) as url:
        alone.env |= {
            "DANLU_S3_ENDPOINT": url,
            "DANLU_S3_ACCESS_KEY": ACCESS,
            "DANLU_S3_SECRET_KEY": SECRET,
            "DANLU_STORE_TIMEOUT": "2",
            "DANLU_MIRROR_INTERVAL": "3600",
        }
        yield service


def begun(person):
    asked = ("--dialect", "modelarts", "--train-url", "s3://bucket/out", "--retries", "0")
    return person.asks("run", person.script(WRITES), *asked, "--detach")


def failed(person):
    job = begun(person)
    person.types("wait", job["id"], code=5)
    return person.asks("show", job["id"])


def test_only_copy_is_named_and_kept(alone, store):
    job = failed(alone)

    (left,) = job["unstored"]
    assert Path(left["path"], "model.h5").read_text() == "a trained model"
    assert f"The only copy of its outputs is in {left['path']}." in job["cause"]["en"]
    assert left["path"] in job["cause"]["zh"]
    assert job["cause"]["next"] == f"danlu store retry {job['name']}"
    for words in (["rm", job["name"]], ["rm", "--yes", job["name"]]):
        refused = alone.types(*words, code=1)
        assert left["path"] in refused.stderr
        assert f"danlu rm --force {job['name']}" in refused.stderr
    assert Path(left["path"], "model.h5").exists()
    alone.types("get", job["name"], "here")
    assert (alone.folder / "here/train_url/model.h5").read_text() == "a trained model"
    url = alone.types("up", "--port", "0").stdout.strip()
    elsewhere = {
        "DANLU_HOME": str(alone.folder / "another-home"),
        "DANLU_TOKEN": (alone.home / "token").read_text().strip(),
        "DANLU_SERVER": url,
    }
    alone.types("get", job["name"], "there", env=elsewhere)
    assert (alone.folder / "there/train_url/model.h5").read_text() == "a trained model"

    alone.types("rm", "--force", job["name"])

    assert not Path(left["path"]).exists()


def test_a_retry_stores_the_outputs_and_reports_it(alone, store):
    job = failed(alone)
    (left,) = job["unstored"]
    refused = alone.types("store", "retry", job["name"], code=1)
    assert left["path"] in refused.stderr
    alone.kills_server()
    store.away = False

    alone.types("store", "retry", job["name"])

    assert store.stored() == {"out/model.h5": b"a trained model"}
    shown = alone.asks("show", job["name"])
    assert shown["unstored"] == []
    assert "Its outputs were stored later" in shown["cause"]["en"]
    assert not Path(left["path"]).exists()
    again = alone.types("store", "retry", job["name"])
    assert "no output that is not stored" in again.stderr
    alone.types("rm", job["name"])


def test_stop_during_store_wait_names_the_copy(alone, store):
    alone.env["DANLU_STORE_TIMEOUT"] = "600"
    job = begun(alone)
    alone.waits_for(lambda: "waiting" in alone.types("show", job["id"]).stdout)
    shown = alone.types("show", job["id"]).stdout
    assert "for the store, until " in shown
    assert "trying" in alone.types("logs", job["id"]).stdout

    alone.types("stop", job["id"], "--grace", "0", "--wait")

    ended = alone.asks("show", job["id"])
    assert ended["state"] == "stopped"
    (left,) = ended["unstored"]
    assert ended["cause"]["en"].startswith("Stopped on request. The only copy of its outputs is in")
    assert Path(left["path"], "model.h5").read_text() == "a trained model"
    store.away = False
    alone.types("store", "retry", job["id"])
    assert list(store.stored()) == ["out/model.h5"]
