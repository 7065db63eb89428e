import hashlib
import io
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from danlu.errors import Conflict, InvalidJob, NotFound, Refused
from danlu.job.spec import JobSpec
from danlu.job.state import JobState
from danlu.service.jobs.draft import overlaps
from danlu.settings import Endpoint
from danlu.storage.locate import Stores


def faults(platform, request):
    with pytest.raises(InvalidJob) as caught:
        platform.service.submit(request)
    assert not platform.service.page()
    return dict(caught.value.faults)


def archive(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def upload(platform, files):
    data = archive(files)
    digest = hashlib.sha256(data).hexdigest()
    return platform.service.accept_code(digest, io.BytesIO(data))


def test_generated_job_name_is_not_refused(platform, request_of, monkeypatch):
    """The end of its id is in it: among a thousand jobs two ends are the same."""
    ids = iter(["00000000aaaa", "00000001aaaa", "00000002aaaa", "00000003bbbb", "00000004bbbb"])
    monkeypatch.setattr("danlu.service.jobs.draft.new_id", lambda now: next(ids))

    names = [platform.service.submit(request_of).name for _ in range(2)]

    assert names == ["train-aaaa", "train-bbbb"]
    with pytest.raises(Conflict, match="already a job named 'train-bbbb'"):
        platform.service.submit({**request_of, "name": "train-bbbb"})


def test_submitted_job_is_queued_with_script_name(platform, request_of):
    job = platform.service.submit(request_of)

    assert job.state is JobState.QUEUED
    assert job.name == f"train-{job.id[-4:]}"


def test_same_token_always_returns_same_job(platform, request_of):
    request = {**request_of, "name": "mnist", "train_url": "obs://bucket/out"}
    first = platform.service.submit(request, token="t1")
    platform.tick()

    assert platform.service.submit(request, token="t1").id == first.id
    assert len(platform.service.page()) == 1


def test_a_name_that_is_taken_is_refused(platform, request_of):
    platform.service.submit({**request_of, "name": "mnist"})

    with pytest.raises(Conflict, match="'mnist'"):
        platform.service.submit({**request_of, "name": "mnist"})


def test_missing_code_and_data_are_reported_together(platform, request_of):
    request = {**request_of, "boot_file": "tarin.py", "data_url": "obs://bucket/nothing"}

    reported = faults(platform, request)

    assert reported["boot_file"].startswith("'tarin.py' is not in the code directory.")
    assert "train.py" in reported["boot_file"]
    assert reported["data_url"] == "there is nothing at 'obs://bucket/nothing'."


def test_a_job_that_can_never_fit_is_refused(platform, request_of):
    assert "cores" in faults(platform, {**request_of, "nodes": 5})["nodes"]


def test_a_flavor_fills_the_numbers_in(platform, request_of):
    job = platform.service.submit({**request_of, "flavor": "modelarts.vm.cpu.2u"})

    assert job.spec.resources.cpus == 2


def test_an_unknown_flavor_offers_the_near_one(platform, request_of):
    reported = faults(platform, {**request_of, "flavor": "modelarts.vm.cpu.2U"})

    assert reported["flavor"].endswith("Did you mean 'modelarts.vm.cpu.2u'?")


def test_job_without_gpus_runs_on_cpu_with_note(platform, request_of):
    job = platform.service.submit({**request_of, "gpus": 4})

    assert job.spec.resources.gpus == 0
    assert "runs on CPU" in job.notes[0]


def test_strict_gpus_refuse_instead(platform, request_of):
    platform.settle(strict_gpus=True)

    assert "no GPU" in faults(platform, {**request_of, "gpus": 4})["gpus"]


@pytest.mark.parametrize(
    "train_url",
    [
        "obs://bucket/code",
        "obs://bucket/code/out",
        "obs://bucket",
        "s3://bucket/code/out",
        "obs://bucket/data/x",
    ],
)
def test_output_overlapping_code_or_data_is_refused(platform, request_of, train_url):
    request = {**request_of, "data_url": "obs://bucket/data", "train_url": train_url}

    assert "overlaps with" in faults(platform, request)["train_url"]


def test_same_name_at_another_service_is_no_overlap(platform, request_of):
    stores = {"ks3": Endpoint("http://127.0.0.1:1")}
    found = overlaps(
        JobSpec("job", "kdl", "obs://bucket/code", "x.py", outputs={"out": "ks3://bucket/code"}),
        Stores(platform.settings.store, stores),
    )

    assert found == []


def test_sibling_with_same_beginning_is_no_overlap(platform, request_of):
    job = platform.service.submit({**request_of, "train_url": "obs://bucket/code-out"})

    assert job.notes == ()


def test_an_output_that_is_not_empty_is_reported(platform, request_of):
    platform.put("obs://bucket/out/old.txt")

    job = platform.service.submit({**request_of, "train_url": "obs://bucket/out"})

    assert job.notes[0].startswith("train_url: obs://bucket/out is not empty (1 file)")


def test_an_output_that_cannot_be_written_is_refused(platform, request_of, tmp_path):
    (tmp_path / "file").write_text("in the way")

    reported = faults(platform, {**request_of, "train_url": f"file://{tmp_path}/file/out"})

    assert "cannot be written" in reported["train_url"]


def test_two_living_jobs_never_share_an_output(platform, request_of):
    first = platform.service.submit({**request_of, "train_url": "obs://bucket/out"})

    with pytest.raises(InvalidJob, match=f"is an output of job '{first.name}'"):
        platform.service.submit({**request_of, "train_url": "obs://bucket/out"})


def refused_beside(platform, request_of, first, second):
    """Return the error of a job that wants ``second`` while another one writes to ``first``."""
    platform.service.submit({**request_of, "name": "first", "train_url": first})
    with pytest.raises(InvalidJob) as caught:
        platform.service.submit({**request_of, "train_url": second})
    assert [job.name for job in platform.service.page()] == ["first"]
    return dict(caught.value.faults)["train_url"]


def test_output_reached_through_link_is_one_place(platform, request_of, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    real, link = f"file://{tmp_path}/real/out", f"file://{tmp_path}/link/out"

    reported = refused_beside(platform, request_of, real, link)

    assert reported.startswith(f"{link!r} is an output of job 'first', which has not ended")


@pytest.mark.parametrize("first", ["obs://bucket/out", "ks3://bucket/out/", "s3://bucket/out/sub"])
def test_bucket_of_embedded_store_equals_its_folder(platform, request_of, first):
    folder = f"file://{platform.settings.store}/buckets/bucket/out"

    assert "is an output of job 'first'" in refused_beside(platform, request_of, first, folder)


def test_folder_of_embedded_store_is_found_through_link(platform, request_of, tmp_path):
    (tmp_path / "link").symlink_to(platform.settings.store / "buckets")
    link = f"file://{tmp_path}/link/bucket/out"

    assert "'first'" in refused_beside(platform, request_of, link, "obs://bucket/out")


def test_linked_bucket_is_its_target_folder(platform, request_of, tmp_path):
    (tmp_path / "disk").mkdir()
    (platform.settings.store / "buckets" / "linked").symlink_to(tmp_path / "disk")

    assert "'first'" in refused_beside(
        platform, request_of, "obs://linked/out", f"file://{tmp_path}/disk/out"
    )


def test_place_inside_output_of_living_job_is_refused(platform, request_of):
    assert "'first'" in refused_beside(
        platform, request_of, "obs://bucket/log", "obs://bucket/log/sub"
    )


def test_output_that_is_folder_of_code_is_refused(platform, request_of):
    request = {**request_of, "train_url": f"file://{platform.settings.store}/buckets/bucket/code"}

    assert "overlaps with code" in faults(platform, request)["train_url"]


def test_one_of_simultaneous_submits_gets_output(platform, request_of, tmp_path):
    (tmp_path / "link").symlink_to(platform.settings.store / "buckets" / "bucket")
    spellings = ["obs://bucket/out", f"file://{tmp_path}/link/out"] * 4
    start = threading.Barrier(len(spellings))

    def submit(uri):
        start.wait()
        try:
            platform.service.submit({**request_of, "train_url": uri})
        except InvalidJob:
            return 0
        return 1

    with ThreadPoolExecutor(len(spellings)) as pool:
        assert sum(pool.map(submit, spellings)) == 1


def test_a_dry_run_keeps_nothing(platform, request_of):
    planned = platform.service.plan({**request_of, "parameters": {"lr": "0.1"}})

    assert planned.tasks[0].command.args == ("--lr=0.1",)
    assert not platform.service.page()
    assert platform.executor.held() == []


def test_uploaded_code_is_stored_by_content(platform, request_of):
    uri = upload(platform, {"train.py": b"print(1)"})

    assert platform.service.code_known(uri.removeprefix("danlu://code/").removesuffix(".tar.gz"))
    assert platform.service.submit({**request_of, "code": uri}).spec.code == uri


def test_boot_file_is_searched_in_uploaded_code_too(platform, request_of):
    uri = upload(platform, {"other.py": b"print(1)"})

    assert "other.py" in faults(platform, {**request_of, "code": uri})["boot_file"]


def test_a_damaged_upload_is_refused(platform):
    with pytest.raises(Refused, match="it was damaged"):
        platform.service.accept_code("0" * 64, io.BytesIO(archive({"train.py": b""})))


def test_a_broken_archive_is_refused_and_not_kept(platform):
    data = archive({"train.py": b"x" * 5000})[:60]
    digest = hashlib.sha256(data).hexdigest()

    with pytest.raises(Refused):
        platform.service.accept_code(digest, io.BytesIO(data))
    assert not platform.service.code_known(digest)


def test_rerun_is_same_request_with_parameters_changed(platform, request_of):
    first = platform.service.submit(
        {**request_of, "name": "a", "parameters": {"lr": "1", "n": "2"}}
    )

    again = platform.service.rerun(first.id, {"lr": "0.5"})

    assert again.spec.params == (("lr", "0.5"), ("n", "2"))
    assert again.parent == first.id
    assert again.name != "a"


def test_a_rerun_asks_for_secrets_again(platform, request_of):
    first = platform.service.submit(request_of, secrets={"KEY": "v"})

    with pytest.raises(InvalidJob, match="--secret KEY"):
        platform.service.rerun(first.id, {})
    assert platform.service.rerun(first.id, {}, secrets={"KEY": "v"}).spec.secrets == ("KEY",)


def test_a_living_job_cannot_be_removed(platform, request_of):
    job = platform.service.submit(request_of)

    with pytest.raises(Conflict, match="danlu stop"):
        platform.service.remove(job.id)


def test_removed_job_is_forgotten_and_its_name_free(platform, request_of):
    job = platform.service.submit({**request_of, "name": "mnist"})
    platform.service.stop(job.id)
    platform.tick()

    platform.service.remove("mnist")

    assert platform.executor.removed == [job.id]
    with pytest.raises(NotFound):
        platform.service.get("mnist")
    platform.service.submit({**request_of, "name": "mnist"})


def test_stopping_twice_or_after_end_is_no_error(platform, request_of):
    job = platform.service.submit(request_of)
    platform.service.stop(job.id)
    platform.tick()

    assert platform.service.stop(job.id).state is JobState.STOPPED


def test_an_unknown_dialect_offers_the_near_one(platform, request_of):
    with pytest.raises(NotFound, match="Did you mean 'modelarts'"):
        platform.service.submit({**request_of, "dialect": "modelart"})


def test_request_and_location_faults_are_reported_together(platform, request_of):
    request = {**request_of, "name": "a b", "data_url": "obs://bucket/none", "nodes": 99, "x": 1}

    assert set(faults(platform, request)) == {"name", "data_url", "nodes", "x"}


@pytest.mark.parametrize(
    "number",
    [{"timeout": float("inf")}, {"timeout": 1e12}, {"priority": 10**19}, {"nodes": 10**9}],
)
def test_a_number_beyond_all_reason_is_refused(platform, request_of, number):
    (field,) = number

    assert "must be a" in faults(platform, {**request_of, **number})[field]


def test_retries_setting_is_the_default_of_jobs(platform, request_of):
    platform.settle(retries=1)

    assert platform.service.submit(request_of).spec.retries == 1
    assert platform.service.submit({**request_of, "retries": 3}).spec.retries == 3


def test_a_secret_that_is_named_needs_its_value(platform, request_of):
    assert "has no value" in faults(platform, {**request_of, "secrets": ["KEY"]})["secrets.KEY"]


@pytest.mark.parametrize(("name", "value"), [("a b", "x"), ("DANLU_TASK", "x"), ("A", "x\0y")])
def test_an_odd_secret_is_refused(platform, request_of, name, value):
    with pytest.raises(InvalidJob, match="secrets"):
        platform.service.submit(request_of, secrets={name: value})


def test_rehearsal_and_refused_job_make_no_output(platform, request_of, tmp_path):
    request = {**request_of, "train_url": f"file://{tmp_path}/new/out"}

    platform.service.plan(request)
    faults(platform, {**request, "cpus": 99})

    assert not (tmp_path / "new").exists()


def test_flavor_may_name_its_gpus(platform, request_of):
    platform.executor.gpus = ("0", "1", "2", "3")

    job = platform.service.submit({**request_of, "flavor": "4*P100"})

    assert job.spec.resources.gpus == 4


def test_missing_gpus_are_reported(platform, request_of):
    job = platform.service.submit({**request_of, "flavor": "4*P100"})

    assert "4 requested on each node" in job.notes[0]
