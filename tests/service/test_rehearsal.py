"""A rehearsal writes to a scratch place, and begins with the newest checkpoint of the real one."""

import pytest

from danlu.errors import InvalidJob
from danlu.job.job import new_id
from danlu.service.jobs.rehearsal import Rehearsals
from danlu.settings import Endpoint

URL_SCRIPT = b"""import argparse
import moxing as mox
parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
mox.file.write(parser.parse_args().train_url + "/done", "1")
"""
STATE = b"""model_checkpoint_path: "s3://bucket/log/model.ckpt-30"
all_model_checkpoint_paths: "s3://bucket/log/model.ckpt-20"
all_model_checkpoint_paths: "s3://bucket/log/model.ckpt-30"
"""


def trained(platform, uri="obs://bucket/log"):
    """Leave what a real training left."""
    platform.put(f"{uri}/checkpoint", STATE)
    for step in (20, 30):
        for part in ("index", "meta", "data-00000-of-00001"):
            platform.put(f"{uri}/model.ckpt-{step}.{part}", f"{step} {part}".encode())
    platform.put(f"{uri}/events.out.tfevents", b"events")


def stored(platform, uri):
    place = platform.stores.at(uri)
    return {path: place.storage.read(entry.key) for path, entry in place.tree()}


def rehearsed(platform, request_of, **more):
    request = {"train_url": "obs://bucket/log", **request_of, **more}
    return platform.service.submit({**request, "rehearse": True})


def test_outputs_go_to_scratch_place_of_job(platform, request_of):
    trained(platform)
    before = stored(platform, "obs://bucket/log")

    job = rehearsed(platform, request_of)

    scratch = f"obs://danlu-rehearsals/{job.id}/train_url"
    assert job.spec.outputs == {"train_url": scratch}
    assert (job.spec.max_steps, job.spec.rehearsal) == (3, True)
    assert stored(platform, "obs://bucket/log") == before
    reported = " ".join(job.notes)
    assert f"outputs go to {scratch}, which is removed with the job" in reported
    assert "Nothing is written to obs://bucket/log." in reported
    assert "is not empty" not in reported


def test_the_scratch_place_begins_with_the_newest_checkpoint(platform, request_of):
    trained(platform)

    job = rehearsed(platform, request_of)

    found = stored(platform, job.spec.outputs["train_url"])
    assert found == {
        # A saver deletes old checkpoints by these paths: none of them is a real one.
        "checkpoint": b'model_checkpoint_path: "model.ckpt-30"\n'
        b'all_model_checkpoint_paths: "model.ckpt-30"\n',
        "model.ckpt-30.data-00000-of-00001": b"30 data-00000-of-00001",
        "model.ckpt-30.index": b"30 index",
        "model.ckpt-30.meta": b"30 meta",
    }
    assert any("begins with a copy of 4 files" in note for note in job.notes)


def test_checkpoints_of_folders_inside_are_found(platform, request_of):
    trained(platform, "obs://bucket/log/fold-1")

    found = stored(platform, rehearsed(platform, request_of).spec.outputs["train_url"])

    assert "fold-1/checkpoint" in found
    assert found["fold-1/model.ckpt-30.index"] == b"30 index"


def test_output_with_previous_files_is_copied_whole(platform, request_of):
    trained(platform)

    job = rehearsed(platform, request_of, predownload=["train_url"])

    found = stored(platform, job.spec.outputs["train_url"])
    assert found == stored(platform, "obs://bucket/log")


def test_oversized_checkpoint_is_not_copied_but_reported(platform, request_of, monkeypatch):
    monkeypatch.setattr("danlu.service.jobs.rehearsal._MAX_CHECKPOINT", 10)
    trained(platform)

    job = rehearsed(platform, request_of)

    assert stored(platform, job.spec.outputs["train_url"]) == {}
    assert any("begins without the checkpoint there: it has" in note for note in job.notes)


def test_script_of_urls_gets_url_of_scratch(platform, request_of):
    platform.put("obs://bucket/code/train.py", URL_SCRIPT)

    job = rehearsed(platform, request_of, urls="train_url")

    assert job.spec.options["urls"] == "train_url"
    planned = platform.service.plan({**job.request, "name": "other"})
    (reported,) = [a for a in planned.tasks[0].command.args if a.startswith("--train_url=")]
    assert reported.startswith("--train_url=obs://danlu-rehearsals/")


def test_rehearsal_may_run_beside_job_with_same_output(platform, request_of):
    platform.service.submit({**request_of, "train_url": "obs://bucket/log"})

    assert rehearsed(platform, request_of).spec.rehearsal


def test_fault_of_real_output_is_reported(platform, request_of, tmp_path):
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(InvalidJob, match="cannot be written"):
        rehearsed(platform, request_of, train_url=f"file://{tmp_path}/file/out")


def test_outputs_of_rehearsal_are_removed_with_its_job(platform, request_of):
    trained(platform)
    job = rehearsed(platform, request_of)
    other = rehearsed(platform, request_of)
    platform.service.stop(job.id)
    platform.tick()

    platform.service.remove(job.id)

    assert stored(platform, job.spec.outputs["train_url"]) == {}
    assert stored(platform, other.spec.outputs["train_url"])
    assert len(stored(platform, "obs://bucket/log")) == 8


def test_removed_normal_job_keeps_its_outputs(platform, request_of):
    trained(platform)
    job = platform.service.submit({**request_of, "train_url": "obs://bucket/log", "max_steps": 3})
    platform.service.stop(job.id)
    platform.tick()

    platform.service.remove(job.id)

    assert len(stored(platform, "obs://bucket/log")) == 8


def test_copies_of_interrupted_submit_are_removed_later(platform, request_of):
    trained(platform)
    job = rehearsed(platform, request_of)
    lost = new_id(platform.now - 10)
    platform.put(f"obs://danlu-rehearsals/{lost}/train_url/model.ckpt-30.index")

    platform.service.sweep()
    assert stored(platform, f"obs://danlu-rehearsals/{lost}")  # a submit may be going on

    platform.now += 100_000
    platform.service.sweep()
    assert not stored(platform, f"obs://danlu-rehearsals/{lost}")
    assert stored(platform, job.spec.outputs["train_url"])


def test_scratch_place_is_where_jobs_can_write(platform):
    platform.settle(stores={"obs": Endpoint("http://127.0.0.1:1")})  # of obs and of s3

    assert Rehearsals(platform.stores, platform.settings)._root("obs") == "ks3://danlu-rehearsals"
    assert Rehearsals(platform.stores, platform.settings)._root("cos") == "cos://danlu-rehearsals"
    platform.settle(cluster_store="s3://shared/danlu/")
    assert (
        Rehearsals(platform.stores, platform.settings)._root("cos")
        == "s3://shared/danlu/rehearsals"
    )
    platform.settle(
        cluster_store="", stores=dict.fromkeys(("obs", "ks3", "cos"), Endpoint("http://x"))
    )
    assert Rehearsals(platform.stores, platform.settings)._root("obs").startswith("file://")


def test_writes_to_urls_among_arguments_go_to_scratch(platform):
    platform.put("ks3://code/trainer/task.py", b"import tensorflow as tf")
    request = {"dialect": "kdl", "code": "ks3://code", "module": "trainer.task", "rehearse": True}

    job = platform.service.submit({**request, "job_args": "--out ks3://b-1/out --n 3"})

    scratch = f"obs://danlu-rehearsals/{job.id}"
    assert (
        "rehearse: the script gets ks3://b-1/out as an argument and can read there. What it "
        f"writes there goes to {scratch}/redirected.urls, which is removed with the job."
        in job.notes
    )
    platform.tick()
    (task,) = platform.service.get(job.id).plan
    assert (task.command.scratch, task.command.may_write) == (scratch, ())
    platform.put(f"{scratch}/redirected.urls/obs/b-1/written/out/model", b"model")
    platform.service.stop(job.id)
    platform.tick()
    platform.service.remove(job.id)
    assert stored(platform, scratch) == {}


def test_rehearse_is_true_or_false(platform, request_of):
    with pytest.raises(InvalidJob, match="rehearse: must be true or false, got 'yes'"):
        platform.service.submit({**request_of, "rehearse": "yes"})
