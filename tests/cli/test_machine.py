"""settings, doctor, status and completion: what the command line knows of this machine."""

import os
from dataclasses import replace
from types import SimpleNamespace

import pytest

from contracts.s3_server import SmallS3, endpoint, serve
from danlu.cli import doctor as checks
from danlu.cli import doctor as disk_checks
from danlu.cli import doctor as ray_state
from danlu.errors import Unavailable
from danlu.sandbox import cgroup, kernel
from danlu.sandbox.cgroup import own_groups
from danlu.settings import Endpoint, load


@pytest.fixture
def settings(home):
    home.mkdir()
    return load(env={"DANLU_HOME": str(home)})


def test_settings_report_their_origin_and_never_the_token(danlu, home, monkeypatch):
    home.mkdir()
    (home / "settings.toml").write_text("retries = 2\n")
    monkeypatch.setenv("DANLU_TOKEN", "s3cret")
    monkeypatch.setenv("DANLU_RECORDS_URL", "postgresql://me:s3cret@db/danlu")

    result = danlu("settings", "--lang", "en")
    reported = danlu("settings", "--json").json

    rows = {line.split()[0]: line.split()[1:] for line in result.out.splitlines()}
    assert rows["lang"] == ["flag", "en"]
    assert rows["token"] == ["environment", "***"]
    assert rows["records_url"] == ["environment", "postgresql://me:***@db/danlu"]
    assert rows["retries"] == [str(home / "settings.toml"), "2"]
    assert rows["code_limit"] == ["default", "128M"]
    assert reported["retries"] == {"value": 2, "origin": str(home / "settings.toml")}
    assert "s3cret" not in result.out + str(reported)


CLOSED = "https://127.0.0.1:1"  # no process listens there
STORE = {"ENDPOINT": CLOSED, "ACCESS_KEY": "canary", "SECRET_KEY": "canary"}


def test_settings_and_doctor_show_stores_without_keys(danlu, home, monkeypatch):
    embedded = f"embedded store ({home / 'store'})"
    assert f"s3, obs, ks3, cos: {embedded}" in danlu("settings", "--lang", "en").out
    assert f"object stores: s3, obs, ks3, cos: {embedded}" in danlu("doctor", "--lang", "en").out
    for name, value in STORE.items():
        monkeypatch.setenv(f"DANLU_OBS_{name}", value)

    shown = danlu("settings", "--lang", "en").out
    reported = danlu("settings", "--json").json["stores"]
    doctor = danlu("doctor", "--lang", "en").out

    assert f"s3, obs: {CLOSED}; ks3, cos: {embedded}" in shown
    assert f"s3, obs: {CLOSED}; ks3, cos: {embedded}" in doctor
    assert reported["origin"] == "environment"
    assert reported["value"]["obs"]["endpoint"] == CLOSED
    assert reported["value"]["obs"]["access_key"] == "***"
    assert "canary" not in shown + str(reported) + doctor


def test_a_store_that_nothing_can_speak_to_fails(settings, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    assert checks.check_embedded_stores(settings).level == "ok"
    store = replace(settings, stores={"obs": Endpoint("https://obs.example.com")})
    finding = checks.check_embedded_stores(store)

    assert finding.level == "fail"
    assert finding.todo == "pip install 'danlu[s3]'"


def test_doctor_fails_for_unavailable_store_only(settings):
    with serve(SmallS3("bucket")) as url:
        both = {"obs": endpoint(url), "ks3": endpoint(CLOSED)}
        levels = {
            finding.text.split(": ")[0]: finding.level
            for finding in disk_checks.check_stores(replace(settings, stores=both))
        }

    assert levels == {url: "ok", CLOSED: "fail"}


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root")
@pytest.mark.parametrize(
    ("options", "text"), [("size=1m", "0.0 GiB free"), ("nr_inodes=20", "space for only 1")]
)
def test_disks_of_store_and_home_are_checked(settings, tmp_path, options, text):
    store = tmp_path / "store"
    store.mkdir()
    kernel.mount("tmpfs", str(store), "tmpfs", options=options)
    try:
        findings = list(disk_checks.disks(replace(settings, store=store)))
    finally:
        kernel.unmount(str(store))

    assert [finding.level for finding in findings[1:]] == ["fail"]
    assert text in findings[1].text
    assert str(store) in findings[1].text


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root")
@pytest.mark.parametrize(("unstored", "level"), [([{}], "fail"), ([], "warn")])
def test_the_disk_of_a_local_output_is_named(settings, tmp_path, monkeypatch, unstored, level):
    place = tmp_path / "small"
    place.mkdir()
    there, here = f"file://{place}/not/yet", f"file://{tmp_path}/out"
    jobs = [
        {"name": "a", "unstored": [], "spec": {"outputs": {"o": here, "s": "s3://bucket/x"}}},
        {"name": "b", "unstored": unstored, "spec": {"outputs": {"o": here, "train_url": there}}},
    ]
    session = SimpleNamespace(
        settings=settings, client=SimpleNamespace(jobs=lambda: {"jobs": jobs})
    )
    monkeypatch.setattr(disk_checks, "state", lambda _: {"running": True})
    kernel.mount("tmpfs", str(place), "tmpfs", options="size=1m")
    try:
        (finding,) = disk_checks.output_disks(session)
    finally:
        kernel.unmount(str(place))

    assert (finding.check, finding.level) == ("disk", level)
    assert f"1.0 MB free at {place}, the disk of outputs of b" in finding.text
    assert "danlu store retry" in finding.todo


def test_python_that_is_too_old_fails():
    assert checks.python((3, 10, 13)).level == "fail"
    assert checks.python((3, 11, 0)).level == "ok"


NOBODYS = "/proc/danlu"  # where not even root can make a folder


def test_a_home_that_cannot_be_made_fails():
    settings = load(env={"DANLU_HOME": NOBODYS})

    finding = checks.home(settings)

    assert finding.level == "fail"
    assert "DANLU_HOME" in finding.todo


def test_little_memory_is_a_warning(tmp_path):
    info = tmp_path / "meminfo"
    info.write_text("MemTotal: 2097152 kB\nMemAvailable: 524288 kB\n")

    finding = checks.memory(info)

    assert finding.level == "warn"
    assert "0.5 of 2.0 GiB" in finding.text


@pytest.mark.parametrize(
    ("env", "level"),
    [
        ({}, "ok"),
        ({"http_proxy": "http://p"}, "warn"),
        ({"HTTPS_PROXY": "http://p", "NO_PROXY": "localhost"}, "warn"),
        ({"HTTPS_PROXY": "http://p", "NO_PROXY": "a.b, localhost,127.0.0.1"}, "ok"),
        ({"http_proxy": "http://p", "no_proxy": "*"}, "ok"),
    ],
)
def test_proxies_that_catch_this_machine_are_a_warning(env, level):
    assert checks.proxies(env).level == level


def test_a_disk_of_another_time_is_a_warning(settings):
    import time

    assert checks.clock(settings).level == "ok"
    assert checks.clock(settings, lambda: time.time() + 60).level == "warn"


def test_doctor_shows_the_fallback_without_cgroups(tmp_path):
    finding = checks.cgroup(tmp_path)

    assert finding.level == "ok"
    assert "by their mark" in finding.text


def test_cgroup_2_is_found_wherever_it_is_mounted():
    (own,) = own_groups("")
    if own is None or not os.access(own, os.W_OK):
        pytest.skip("no cgroup 2 here that we may write to")

    assert "end together" in checks.cgroup().text


@pytest.mark.parametrize(
    ("group", "uid", "level", "text"),
    [
        (True, 0, "ok", "control group"),
        (False, 1000, "ok", "your user"),
        (False, 0, "warn", "unlimited"),
    ],
)
def test_doctor_shows_how_processes_are_counted(
    settings, tmp_path, monkeypatch, group, uid, level, text
):
    (tmp_path / "pids.max").write_text("max")
    made = cgroup.ControlGroup(tmp_path) if group else None
    monkeypatch.setattr(cgroup, "create", lambda name: made)
    monkeypatch.setattr("os.getuid", lambda: uid)

    finding = checks.processes(settings)

    assert (finding.level, text in finding.text) == (level, True)
    assert bool(finding.todo) == (level == "warn")


def test_a_limit_that_was_taken_away_is_reported(settings):
    finding = checks.processes(replace(settings, process_limit=0))

    assert "process_limit is 0" in finding.text


def test_gpus_are_counted(settings, tmp_path):
    (tmp_path / "gpus" / "0000:01:00.0").mkdir(parents=True)

    assert checks.gpus(settings, tmp_path / "gpus").text == "1"
    assert "none" in checks.gpus(settings, tmp_path / "nothing").text


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_doctor_reports_every_check(danlu, lang):
    result = danlu("doctor", "--lang", lang)

    assert len([line for line in result.out.splitlines() if not line.startswith(" ")]) == 14
    assert "Python" in result.out


def test_doctor_exits_with_1_when_repair_is_needed(danlu, monkeypatch):
    monkeypatch.setenv("DANLU_HOME", NOBODYS)

    result = danlu("doctor", "--json")

    levels = {item["check"]: item["level"] for item in result.json["checks"]}
    assert result.code == 1
    assert levels["home"] == "fail"


def test_status_starts_nothing(danlu, home):
    result = danlu("status")

    assert result.code == 0
    assert "No server is running" in result.err
    assert not home.exists()


def test_status_of_a_server_elsewhere(danlu):
    reported = danlu("status", "--server", "http://other:9420").out

    assert "http://other:9420" in reported
    assert "2 CPUs, 8.6 GB, 0 GPUs" in reported


def test_down_where_nothing_is_up(danlu):
    assert "No server is running" in danlu("down").err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(danlu, shell):
    assert "_DANLU_COMPLETE" in danlu("completion", shell).out


def test_completion_offers_job_names(danlu, client, script, monkeypatch, capfd):
    danlu("run", "code", "--name", "mnist", "--detach")
    danlu("run", "code", "--name", "cifar", "--detach")
    monkeypatch.setenv("DANLU_SERVER", "http://other:9420")
    monkeypatch.setenv("_DANLU_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "danlu show mn")
    monkeypatch.setenv("COMP_CWORD", "2")

    with pytest.raises(SystemExit):
        danlu()

    assert capfd.readouterr().out == "plain,mnist\n"


def test_completion_reads_names_from_disk_without_server(home, fake_task):
    from danlu.cli.session import Session, job_names
    from danlu.taskdir.files import TaskDir
    from danlu.taskdir.job_files import LocalJobFiles

    store = LocalJobFiles(home / "jobs" / fake_task.job_id)
    TaskDir(store, 1, "worker-0").write_plan(fake_task, {})

    assert job_names(Session()) == ["mnist"]


def test_status_reports_the_nodes_of_a_cluster(danlu, client, monkeypatch):
    nodes = [{"host": "10.0.0.2", "cpus": 4.0, "memory": 8 << 30, "gpus": 1}]
    capacity = {"cpus": 4.0, "memory": 8 << 30, "gpus": ["10.0.0.2/0"], "nodes": nodes}
    monkeypatch.setattr(client, "capacity", lambda: capacity)

    result = danlu("status", "--server", "http://127.0.0.1:1")

    assert "10.0.0.2: 4 CPUs, 8.6 GB, 1 GPUs" in result.out


def test_status_reports_why_capacity_of_cluster_is_unknown(danlu, client, monkeypatch):
    def away():
        raise Unavailable("Nothing answers at 10.0.0.1:6379.")

    monkeypatch.setattr(client, "capacity", away)

    result = danlu("status", "--server", "http://127.0.0.1:1")

    assert (result.code, "Nothing answers at 10.0.0.1:6379." in result.out) == (0, True)


@pytest.mark.parametrize(
    ("env", "level", "words"),
    [
        ({}, "ok", "not used"),
        ({"DANLU_EXECUTOR": "ray"}, "fail", "cluster_store is not set"),
        ({"DANLU_EXECUTOR": "ray", "DANLU_STORE_SHARED": "true"}, "fail", "danlu up --ray"),
        (
            {
                "DANLU_EXECUTOR": "ray",
                "DANLU_STORE_SHARED": "true",
                "DANLU_RAY_ADDRESS": "127.0.0.1:1",
            },
            "warn",
            "Nothing answers at 127.0.0.1:1",
        ),
    ],
)
def test_doctor_looks_at_the_cluster(env, level, words, home):
    finding = ray_state.check_ray(load({"home": home}, env))

    assert finding.level == level
    assert words in f"{finding.text} {finding.todo}"
