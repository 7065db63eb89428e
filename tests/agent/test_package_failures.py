"""Packages that cannot be had, by the real agent: what is said, and whether it is tried again."""

from danlu.job.state import Reason
from wheels import wheel


def test_what_cannot_be_installed_ends_the_job_with_a_sentence(bench, index, asking):
    files = asking(bench, "print('ran')", "numpyy==1.0\n")

    outcome = bench.run(files)

    assert outcome.reason is Reason.PREPARE_FAILED
    assert outcome.reason.retries(5) == 0
    sentence = "Packages cannot be installed: 'numpyy==1.0' (requirements.txt line 1): Because "
    assert outcome.failure.detail.startswith(sentence)
    assert len(outcome.failure.detail) < 500
    assert "ran\n" not in bench.log(files)


def test_all_faults_of_a_file_are_told_at_once(bench, index, asking):
    files = asking(bench, "pass", "not a requirement\nmissing-1.0-py3-none-any.whl\n-r none.txt\n")

    detail = bench.run(files).failure.detail

    assert "requirements.txt line 1: 'not a requirement' is not a requirement." in detail
    assert "requirements.txt line 2: 'missing-1.0-py3-none-any.whl' is not beside" in detail
    assert "requirements.txt line 3: there is no file 'none.txt'." in detail


def test_strict_packages_refuses_and_lists_all(bench, index, asking, monkeypatch):
    monkeypatch.setenv("DANLU_STRICT_PACKAGES", "true")
    wheel(index, "deep", "2.0")
    files = asking(bench, "pass", "click==7.0\ndeep==0.1\nsklearn\n")
    wheel(index, "scikit-learn", "1.9")

    outcome = bench.run(files)

    assert outcome.reason is Reason.PREPARE_FAILED
    assert "strict_packages is set" in outcome.failure.detail
    for asked in ("click==7.0 (requirements.txt line 1)", "deep==0.1 (", "sklearn ("):
        assert asked in outcome.failure.detail


def test_a_network_that_does_not_answer_is_tried_again(bench, index, asking, monkeypatch):
    for name in ("UV_OFFLINE", "UV_FIND_LINKS"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://someone:pass-word@127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    files = asking(bench, "pass", "deep==1.0\n")

    outcome = bench.run(files)

    assert outcome.reason is Reason.STORE_UNAVAILABLE, outcome
    assert outcome.reason.retries(5) == 5
    assert "Packages could not be fetched" in outcome.failure.detail
    assert "pass-word" not in outcome.failure.detail + bench.log(files)


def test_a_setup_that_fails_says_why(bench, index, asking):
    files = asking(bench, "pass", package=True, modules={"setup.py": "print 'python 2'\n"})

    outcome = bench.run(files)

    assert outcome.reason is Reason.PREPARE_FAILED
    assert "setup.py does not build: SyntaxError" in outcome.failure.detail


def test_a_stop_while_packages_are_built_ends_the_task(bench, index, asking, until):
    modules = {"setup.py": "import time\nopen('/cache/building', 'w').close()\ntime.sleep(600)\n"}
    files = asking(bench, "pass", package=True, modules=modules)
    agent = bench.start(files)
    until((bench.workspace() / "root/cache/building").exists)

    files.request_stop(5)
    agent.terminate()

    agent.wait(60)
    assert files.outcome().reason is Reason.STOPPED_BY_USER
    assert bench.processes() == []
