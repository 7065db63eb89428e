import dataclasses
import hashlib

import pytest

from danlu.errors import Unavailable
from danlu.job.job import Job
from danlu.server.schemas import JobSummary, JobView, PlanView, ReturnedView

REQUEST = {"request": {"dialect": "fake", "name": "mnist"}}


@pytest.fixture
def job(ask):
    return ask("POST", "/v1/jobs", json=REQUEST).json()


def end(home, job, how="succeeded"):
    (home / "fake" / f"{job['id']}.end").write_text(how)


def write_output(home, job, text):
    with open(home / "fake" / f"{job['id']}.log", "a") as log:
        log.write(text)


def test_submitted_job_has_a_location(ask):
    answer = ask("POST", "/v1/jobs", json=REQUEST)

    assert answer.status_code == 201
    view = ask("GET", answer.headers["location"]).json()
    assert (view["name"], view["state"], view["cause"]) == ("mnist", "running", None)


def test_view_matches_the_schema(ask, home, job):
    end(home, job)
    view = ask("GET", f"/v1/jobs/{job['id']}").json()

    more = {"cause", "started", "ended", "steps", "hang", "shortened"}
    assert set(view) == {f.name for f in dataclasses.fields(Job)} | more
    JobView.model_validate(view)
    assert set(JobView.model_fields) == set(view)
    assert view["cause"]["code"] == "done"
    assert view["ended"] >= view["started"] >= view["created"]


def test_the_same_token_twice_is_one_job(ask):
    first = ask("POST", "/v1/jobs", json=REQUEST, headers={"Client-Token": "t1"})
    again = ask("POST", "/v1/jobs", json=REQUEST, headers={"Client-Token": "t1"})

    assert again.status_code == 201
    assert again.json()["id"] == first.json()["id"]


def test_faults_of_job_come_back_one_by_one(ask):
    answer = ask("POST", "/v1/jobs", json={"request": {"dialect": "x"}})

    assert answer.status_code == 422
    assert answer.json()["error"]["faults"] == [
        {"field": "dialect", "message": "must be 'fake', got 'x'."}
    ]


def test_a_plan_is_shown_and_nothing_is_kept(ask):
    answer = ask("POST", "/v1/plan", json=REQUEST)

    PlanView.model_validate(answer.json())
    assert ask("GET", "/v1/jobs").json() == {"jobs": [], "next": None}


def test_jobs_are_listed_newest_first_page_by_page(ask):
    for name in ("a", "b", "c"):
        ask("POST", "/v1/jobs", json={"request": {"dialect": "fake", "name": name}})

    seen, before = [], ""
    while before is not None:
        page = ask("GET", "/v1/jobs", params={"limit": 2, "before": before}).json()
        seen += page["jobs"]
        before = page["next"]

    assert [job["id"] for job in seen] == sorted((job["id"] for job in seen), reverse=True)
    assert {job["name"] for job in seen} == {"a", "b", "c"}
    assert all(set(job) == set(JobSummary.model_fields) for job in seen)


def test_jobs_are_filtered_by_state(ask, home, job):
    end(home, job)

    assert ask("GET", "/v1/jobs?state=running").json()["jobs"] == []
    assert len(ask("GET", "/v1/jobs?state=running&state=succeeded").json()["jobs"]) == 1


def test_waiting_ends_with_the_time_given(ask, job):
    assert ask("GET", "/v1/jobs/mnist/wait?timeout=0.2").json()["state"] == "running"


def test_waiting_ends_with_the_job(ask, home, job):
    end(home, job)

    assert ask("GET", "/v1/jobs/mnist/wait?timeout=60").json()["state"] == "succeeded"


def test_a_job_is_stopped_removed_and_gone(ask, job):
    assert ask("DELETE", "/v1/jobs/mnist").status_code == 409
    assert ask("POST", "/v1/jobs/mnist/stop", json={"grace": 1}).json()["state"] == "stopped"
    assert ask("POST", "/v1/jobs/mnist/stop").json()["state"] == "stopped"
    assert ask("DELETE", "/v1/jobs/mnist").status_code == 204
    assert ask("GET", "/v1/jobs/mnist").status_code == 404


def test_what_an_ended_job_replaced_is_restored(ask, home, job):
    assert ask("POST", "/v1/jobs/mnist/restore").status_code == 409
    end(home, job)

    dry = ask("POST", "/v1/jobs/mnist/restore", json={"dry_run": True}).json()
    done = ask("POST", "/v1/jobs/mnist/restore").json()

    ReturnedView.model_validate(done)
    assert (dry["dry_run"], dry["outputs"][0]["kept_as"]) == (True, "")
    assert (done["job"], done["name"], done["dry_run"]) == (job["id"], "mnist", False)
    assert done["outputs"] == [
        {
            "uri": "obs://bucket/out",
            "restored": ["model"],
            "same": ["other"],
            "size": 3,
            "kept_as": "r-1",
        }
    ]


def test_a_rerun_knows_its_parent(ask, job):
    answer = ask("POST", "/v1/jobs/mnist/rerun", json={"parameters": {"lr": "0.1"}})

    assert answer.status_code == 201
    assert answer.json()["parent"] == job["id"]


def test_lines_go_on_from_their_cursor(ask, home, job):
    write_output(home, job, "one\ntwo\nthr")
    first = ask("GET", "/v1/jobs/mnist/lines").json()
    write_output(home, job, "ee\n")
    second = ask(
        "GET", "/v1/jobs/mnist/lines", params={"cursor": first["cursor"], "wait": 9}
    ).json()

    assert [line["text"] for line in first["lines"]] == ["one", "two"]
    assert first["partial"] == {"worker-0": "thr"}
    assert second["lines"] == [{"task": "worker-0", "text": "three"}]
    assert not second["ended"]


def test_waiting_for_lines_ends_with_the_job(ask, home, job):
    end(home, job)

    answer = ask("GET", "/v1/jobs/mnist/lines?cursor=0&wait=60").json()

    assert answer["ended"]


def test_non_json_numbers_of_curves_are_words(ask, home, job):
    answer = ask("GET", "/v1/jobs/mnist/curves")

    points = [[1, 100.0, 0.5], [2, 101.0, "NaN"]]
    assert answer.json() == {
        "job": job["id"],
        "name": "mnist",
        "attempt": 1,
        "ended": False,
        "curves": [{"task": "worker-0", "run": "train", "tag": "loss", "points": points}],
        "left_out": 3,
    }
    assert ask("GET", "/v1/jobs/nobody/curves").status_code == 404
    assert ask("GET", "/v1/jobs/mnist/curves?attempt=0").status_code == 400


def test_what_old_code_needed_is_reported_by_kind(ask, home, job):
    answer = ask("GET", "/v1/jobs/mnist/translation")

    assert answer.json() == {
        "job": job["id"],
        "name": "mnist",
        "attempt": 1,
        "tensorflow": "",
        "ended": False,
        "repaired": [{"file": "train.py", "line": 2, "text": "print"}],
        "mapped": [],
        "relaxed": [],
        "gone": [{"file": "", "line": 0, "text": "tf.contrib.nccl"}],
        "left_out": 1,
    }
    end(home, job)
    assert ask("GET", "/v1/jobs/mnist/translation?attempt=1").json()["ended"]
    assert ask("GET", "/v1/jobs/nobody/translation").status_code == 404
    assert ask("GET", "/v1/jobs/mnist/translation?attempt=0").status_code == 400


def test_raw_response_has_the_next_offset(ask, home, job):
    write_output(home, job, "<script>alert(1)</script>\n")

    answer = ask("GET", "/v1/jobs/mnist/logs/worker-0?offset=8")

    assert answer.content == b"alert(1)</script>\n"
    assert answer.headers["danlu-next"] == "26"
    assert answer.headers["content-disposition"] == "attachment"
    assert answer.headers["content-type"] == "application/octet-stream"


def test_code_is_kept_under_name_of_its_content(ask):
    data = b"an archive" * 1000
    digest = hashlib.sha256(data).hexdigest()

    assert ask("HEAD", f"/v1/code/{digest}").status_code == 404
    answer = ask("PUT", f"/v1/code/{digest}", content=data)
    assert (answer.status_code, answer.json()) == (201, {"uri": f"danlu://code/{digest}.tar.gz"})
    assert ask("HEAD", f"/v1/code/{digest}").status_code == 200


def test_code_damaged_in_transit_is_refused(ask, home):
    answer = ask("PUT", "/v1/code/" + "a" * 64, content=b"other")

    assert answer.status_code == 400
    assert "SHA-256" in answer.json()["error"]["message"]
    assert sorted(path.name for path in home.iterdir()) == ["fake"]


def test_code_over_limit_is_refused_before_storing(ask):
    answer = ask("PUT", "/v1/code/" + "a" * 64, content=b"x" * (3 << 20))

    assert answer.status_code == 413


def test_capacity_and_hello(ask):
    assert ask("GET", "/v1/capacity").json() == {
        "cpus": 2.0,
        "memory": 1 << 30,
        "gpus": [],
        "nodes": [],
    }
    assert ask("GET", "/v1/hello").json()["living"] == 0


def test_shutdown_is_answered_first_and_done_then(app, ask, job):
    reported = []
    app.state.context.shutdown = lambda: reported.append(True)

    answer = ask("POST", "/v1/shutdown")

    assert (answer.status_code, answer.json(), reported) == (202, {"living": 1}, [True])


@pytest.mark.parametrize(
    "path",
    [
        "/v1/jobs/..%2f..%2fetc%2fpasswd",
        "/v1/jobs/%2e%2e",
        "/v1/jobs/a%00b",
        "/v1/jobs/a%0a",
        "/v1/jobs/;..",
        "/v1/jobs/" + "a" * 65,
        "/v1/jobs/%252e%252e%252f",
        "/v1/jobs/mnist/logs/..%5c..",
        "/v1/jobs/mnist/logs/worker-0%2f..",
        "/v1/code/..%2ftoken",
        "/v1/code/file:%2f%2f%2fetc",
    ],
)
def test_path_like_name_is_not_found(ask, job, path):
    answer = ask("GET", path)

    assert answer.status_code in (404, 405)
    assert answer.json()["error"]["code"] in ("not_found", "method_not_allowed")


def test_a_wrong_query_is_reported(ask):
    answer = ask("GET", "/v1/jobs?limit=no")

    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("limit: ")
    assert "'no'" in answer.json()["error"]["message"]


def test_a_secret_is_not_repeated_in_an_error(ask):
    body = {**REQUEST, "secrets": {"AK": ["canary-value"]}}

    answer = ask("POST", "/v1/jobs", json=body)

    assert answer.status_code == 400
    assert "canary" not in answer.text


def test_silent_database_is_pause_not_fault(ask, platform):
    def locked(**_):
        raise Unavailable("The database is locked.")

    platform.service.page = locked
    answer = ask("GET", "/v1/jobs")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert ask("GET", "/v1/hello").json()["living"] is None


@pytest.mark.parametrize(("number", "status"), [(28, 503), (30, 503), (13, 500)])
def test_full_disk_is_pause_not_fault(ask, platform, number, status):
    def full(*_, **__):
        raise OSError(number, "No space left on device")

    platform.service.submit = full

    assert ask("POST", "/v1/jobs", json=REQUEST).status_code == status


def test_fault_of_ours_is_reported_without_its_traceback(ask, platform, caplog):
    def broken(_):
        raise KeyError("some detail")

    platform.service.get = broken
    answer = ask("GET", "/v1/jobs/mnist")

    assert answer.status_code == 500
    assert answer.json()["error"]["message"] == "Internal error."
    assert "some detail" not in answer.text
    assert "some detail" in caplog.text
