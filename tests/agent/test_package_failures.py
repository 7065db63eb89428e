"""Packages that cannot be installed, by the real agent: messages and retries."""

from danlu.job.state import Reason
from wheels import wheel


def test_what_cannot_be_installed_ends_job_with_sentence(bench, index, asking):
    files = asking(bench, "print('ran')", "numpyy==1.0\n")

    outcome = bench.run(files)

    assert outcome.reason is Reason.PREPARE_FAILED
    assert outcome.reason.retries(5) == 0
    sentence = "Packages cannot be installed: 'numpyy==1.0' (requirements.txt line 1): Because "
    assert outcome.failure.detail.startswith(sentence)
    assert len(outcome.failure.detail) < 500
    assert "ran\n" not in bench.log(files)


def test_all_faults_of_file_are_reported_at_once(bench, index, asking):
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


def test_network_that_does_not_answer_is_tried_again(bench, index, asking, monkeypatch):
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


def test_a_setup_that_fails_reports_why(bench, index, asking):
    files = asking(bench, "pass", package=True, modules={"setup.py": "print 'python 2'\n"})

    outcome = bench.run(files)

    assert outcome.reason is Reason.PREPARE_FAILED
    assert "setup.py does not build: SyntaxError" in outcome.failure.detail


def test_failed_optional_setup_is_reported_and_script_runs(bench, index, asking):
    modules = {"setup.py": "import sys\nsys.exit(3)\n"}
    files = asking(bench, "print('ran')", package=True, optional=True, modules=modules)

    outcome = bench.run(files)

    assert outcome.reason is Reason.DONE, outcome
    log = bench.log(files)
    assert "ran\n" in log
    assert "packages (" in log
    assert "none installed" in log
    assert "the package (setup.py): left out: setup.py does not build" in log


def test_optional_setup_requirements_are_skipped(bench, index, asking):
    setup = (
        "from setuptools import setup\n"
        "setup(name='mine', version='1.0', py_modules=['part'], install_requires=['nosuch'])\n"
    )
    modules = {"setup.py": setup, "part.py": "NAME = 'part'\n"}
    script = "import importlib.metadata as m, part\nprint(m.version('mine'), part.NAME)"
    files = asking(bench, script, package=True, optional=True, modules=modules)

    assert bench.run(files).reason is Reason.DONE

    log = bench.log(files)
    assert "1.0 part\n" in log
    assert "nosuch (setup.py): left out: Because nosuch was not found" in log


def test_uninstallable_lines_of_optional_file_are_skipped(bench, index, asking):
    wheel(index, "kept", "1.0")
    text = "python==3.7\nnot a requirement\nkept==1.0\nnosuch==2.0\n"
    files = asking(bench, "import kept\nprint('ran')", text, optional=True)

    assert bench.run(files).reason is Reason.DONE

    log = bench.log(files)
    assert "ran\n" in log
    assert "packages (" in log
    assert "kept 1.0" in log
    assert "python==3.7 (requirements.txt line 1): left out; jobs run on Python 3." in log
    assert "line 2: 'not a requirement' is not a requirement. It is left out." in log
    assert "nosuch==2.0 (requirements.txt line 4): left out: Because nosuch was not found" in log


def test_stop_while_packages_are_built_ends_task(bench, index, asking, until):
    modules = {"setup.py": "import time\nopen('/cache/building', 'w').close()\ntime.sleep(600)\n"}
    files = asking(bench, "pass", package=True, modules=modules)
    agent = bench.start(files)
    until((bench.workspace() / "root/cache/building").exists)

    files.request_stop(5)
    agent.terminate()

    agent.wait(60)
    assert files.outcome().reason is Reason.STOPPED_BY_USER
    assert bench.processes() == []
