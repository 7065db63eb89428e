import dataclasses
import re
from pathlib import Path

import pytest

from danlu.errors import Refused
from danlu.settings import (
    FLAVORS,
    Endpoint,
    Flavor,
    Secret,
    Settings,
    default_home,
    endpoint_of,
    load,
    runtime_folder,
    settings_file,
    size,
)


@pytest.fixture
def env(tmp_path):
    return {"DANLU_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}


@pytest.fixture
def write(env):
    def write_settings(text):
        path = settings_file(env)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_settings


def refused(env, flags=None):
    with pytest.raises(Refused) as caught:
        load(flags, env)
    return caught.value.message


def test_without_a_word_the_defaults_hold(env):
    settings = load(env=env)

    assert settings == Settings(home=Path(env["DANLU_HOME"]))
    assert settings.origins["port"] == "default"
    assert settings.origins["home"] == "environment"


def test_flag_wins_over_environment_over_file_over_default(env, write):
    path = write("port = 1\nretries = 1\ngrace = 1\n")
    env |= {"DANLU_RETRIES": "2", "DANLU_GRACE": "2"}

    settings = load({"grace": 3, "lang": None}, env)

    assert (settings.port, settings.retries, settings.grace, settings.lang) == (1, 2, 3, "")
    origins = [settings.origins[key] for key in ("port", "retries", "grace", "lang")]
    assert origins == [str(path), "environment", "flag", "default"]


def test_an_unknown_key_offers_the_near_one(env, write):
    write('idle_exti = 5\n[flavor]\n"x" = 1\n')

    message = refused(env | {"DANLU_HEARTBEET": "80"})

    assert "idle_exti: is not a setting" in message
    assert "Did you mean 'idle_exit'?" in message
    assert "flavor: is not a setting" in message
    assert "heartbeet: is not a setting (environment). Did you mean 'heartbeat'?" in message


def test_all_faults_are_reported_at_once(env, write):
    path = write("port = 'http'\nstrict_gpus = 'maybe'\n")

    message = refused(env | {"DANLU_LANG": "fr"}, {"cache_limit": "much"})

    assert message.splitlines() == [
        f"port: must be a whole number from 0 to 65535, got 'http' ({path}).",
        f"strict_gpus: must be true or false, got 'maybe' ({path}).",
        "lang: must be en or zh, got 'fr' (environment).",
        "cache_limit: must be a size such as 512M, got 'much' (flag).",
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("port", -1),
        ("port", 65536),
        ("port", 80.5),
        ("port", True),
        ("port", [80]),
        ("retries", "inf"),
        ("grace", "nan"),
        ("grace", "inf"),
        ("grace", -0.5),
        ("grace", None),
        ("strict_gpus", "maybe"),
        ("strict_gpus", 2),
        ("memory", -1),
        ("memory", float("inf")),
        ("memory", True),
        ("memory", []),
        ("host", 5),
        ("home", 5),
        ("home", ""),
        ("lang", ["en"]),
        ("isolation", "all"),
        ("ray_address", "10.0.0.5"),
        ("ray_address", "10.0.0.5:0"),
        ("ray_address", "10.0.0.5:66000"),
        ("ray_address", "ray://10.0.0.5:10001"),
        ("ray_address", "auto"),
        ("allowed_hosts", 5),
        ("allowed_hosts", ["a", 5]),
        ("flavors", "cpu.basic"),
        ("flavors", {"a": 5}),
        ("flavors", {"a": {"cores": 5}}),
        ("flavors", {"a": {"gpus": -1}}),
    ],
)
def test_value_of_wrong_kind_is_refused_by_sentence(env, key, value):
    flags = {key: value} if value is not None else {key: object()}

    assert re.match(rf"{key}: must be .+, got .* \(flag\)\.$", refused(env, flags))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (0, 0),
        (1.9, 1),
        ("512", 512),
        ("512M", 512 << 20),
        ("2 GiB", 2 << 30),
        ("1.5k", 1536),
        ("1tb", 1 << 40),
        (" 3 B ", 3),
    ],
)
def test_sizes(text, expected):
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "M", "5 apples", "-5M", "1e9", "٣M", "5 M M"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        size(text)


@pytest.mark.parametrize("amount", [10**400, 1e300, "9" * 400, "8388608T", float("inf")])
def test_a_size_no_disk_has_is_none(amount):
    with pytest.raises(ValueError, match=r"^(\d|inf)"):
        size(amount)


@pytest.mark.parametrize(("word", "meant"), [("1", True), ("YES", True), ("no", False)])
def test_a_switch_in_the_environment_is_a_word(env, word, meant):
    assert load(env=env | {"DANLU_STRICT_GPUS": word}).strict_gpus is meant


def test_lists_come_from_the_file_or_by_commas(env, write):
    assert load(env=env | {"DANLU_ALLOWED_HOSTS": "a, b,"}).allowed_hosts == ("a", "b")
    write('allowed_hosts = ["c"]')
    assert load(env=env).allowed_hosts == ("c",)


def test_flavors_of_the_file_are_added_to_ours(env, write):
    write('[flavors."my.big"]\ncpus = 8\nmemory = "2G"\ngpus = 1\n')

    flavors = load(env=env).flavors

    assert flavors == {**FLAVORS, "my.big": Flavor(8.0, 2 << 30, 1)}


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"port 80", "is not valid TOML"),
        ("lang = 'zh' # 语言".encode("gbk"), "is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(env, write, written, text):
    path = write(written)

    message = refused(env)

    assert message.startswith(f"{path} {text}")


def test_directory_in_place_of_file_is_named(env):
    settings_file(env).mkdir(parents=True)

    assert f"Cannot read {settings_file(env)}" in refused(env)


def test_a_file_saved_by_notepad_is_read(env, write):
    write(b"\xef\xbb\xbfport = 81\r\n")

    assert load(env=env).port == 81


def test_script_variables_are_no_settings(env):
    names = "TASK JOB_ID JOB_NAME ATTEMPT BOX PACKAGES CODE INPUTS MAX_STEPS TENSORFLOW"
    reported = {f"DANLU_{name}": "x" for name in names.split()}

    assert load(env=env | reported) == load(env=env)


def test_home_and_file_follow_the_desktop_conventions():
    assert default_home({"HOME": "/h"}) == Path("/h/.local/share/danlu")
    assert default_home({"HOME": "/h", "XDG_DATA_HOME": "/d"}) == Path("/d/danlu")
    assert settings_file({"HOME": "/h"}) == Path("/h/.config/danlu/settings.toml")
    assert settings_file({"HOME": "/h", "XDG_CONFIG_HOME": "/c"}) == Path("/c/danlu/settings.toml")
    assert settings_file({"DANLU_HOME": "/x", "HOME": "/h"}) == Path("/x/settings.toml")
    assert settings_file({"DANLU_HOME": "", "HOME": "/h"}) == settings_file({"HOME": "/h"})


def test_home_is_absolute(env, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert load({"home": "here"}, env).home == tmp_path / "here"
    assert load({"home": tmp_path / "there"}, env).home == tmp_path / "there"


@pytest.mark.parametrize("depth", [1, 40])
def test_the_path_of_the_socket_stays_short(tmp_path, monkeypatch, depth):
    """The kernel takes 107 bytes."""
    runtime = tmp_path.joinpath(*["runtime"] * depth)
    runtime.mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))

    socket = Settings(home=Path("/home", "炼丹" * 100)).socket

    assert len(str(socket).encode()) < 108


def test_homes_have_sockets_of_their_own():
    assert Settings(home=Path("/a")).socket != Settings(home=Path("/b")).socket


def test_without_a_runtime_directory_sockets_are_below_tmp(tmp_path):
    assert runtime_folder({}).parent == Path("/tmp")
    assert runtime_folder({"XDG_RUNTIME_DIR": str(tmp_path / "gone")}).parent == Path("/tmp")


def test_a_secret_is_never_shown(env, write):
    settings = load(env=env | {"DANLU_TOKEN": "canary"})

    assert settings.token == "canary"
    assert "canary" not in repr(settings)
    assert "canary" not in repr(dataclasses.asdict(settings))
    assert "canary" not in str([settings.token, {"token": settings.token}])
    assert repr(Secret("canary")) == "***"


def test_secret_of_wrong_kind_is_not_shown_either(env, write):
    write("token = ['canary']")

    message = refused(env)

    assert "canary" not in message
    assert message.startswith("token: must be text, got ***")


@pytest.mark.parametrize(
    "name", ["S3_ENDPOINT", "OBS_ENDPOINT", "SERVER", "HOST", "CLUSTER_STORE", "RAY_ADDRESS"]
)
def test_password_in_address_is_refused_and_not_shown(env, name):
    message = refused(env | {f"DANLU_{name}": "http://me:canary@host:80"})

    assert "got 'http://me:***@host:80' (environment)" in message
    assert "canary" not in message


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:canary@db:5432/danlu", "postgresql://me:***@db:5432/danlu"),
        ("postgres://me:canary@canary@db/danlu", "postgres://me:***@db/danlu"),
        ("postgres://me:canary?canary@db/danlu?x=1", "postgres://me:***@db/danlu?x=1"),
        ("postgres://me:canary/canary@db/danlu", "postgres://me:***@db/danlu"),
        (
            "postgresql://db/danlu?user=me&password=canary",
            "postgresql://db/danlu?user=me&password=***",
        ),
        ("postgresql://me@db/danlu?sslpassword=canary", "postgresql://me@db/danlu?sslpassword=***"),
        ("postgresql:///danlu", "postgresql:///danlu"),
        ("", ""),
    ],
)
def test_the_password_of_the_database_is_never_shown(env, url, shown):
    settings = load(env=env | {"DANLU_RECORDS_URL": url})

    assert settings.records_url == url
    assert settings.records_url.shown == shown
    assert "canary" not in repr(settings) + str(dataclasses.asdict(settings))


def test_the_database_of_several_servers_is_postgresql(env):
    message = refused(env | {"DANLU_RECORDS_URL": "mysql://me:canary@db/danlu"})

    assert message.startswith("records_url: must be a URL such as postgresql")
    assert message.endswith(", got *** (environment).")


def test_embedded_store_is_below_home_or_configured(env, tmp_path):
    assert load(env=env).store == Path(env["DANLU_HOME"], "store")
    assert load({"home": tmp_path / "there"}, env).store == tmp_path / "there" / "store"
    assert load(env=env | {"DANLU_STORE": "/bound/store"}).store == Path("/bound/store")


OBS = {
    "DANLU_OBS_ENDPOINT": "https://obs.example.com/",
    "DANLU_OBS_ACCESS_KEY": "canary-1",
    "DANLU_OBS_SECRET_KEY": "canary-2",
}


def test_endpoint_comes_from_file_or_from_variables(env, write):
    endpoint = Endpoint(
        "https://obs.example.com", access_key=Secret("canary-1"), secret_key=Secret("canary-2")
    )

    assert load(env=env | OBS).stores == {"obs": endpoint}
    path = write(
        "[stores.obs]\nendpoint = 'https://obs.example.com'\n"
        "access_key = 'canary-1'\nsecret_key = 'canary-2'\n"
        "[stores.ks3]\nendpoint = 'http://[::1]:8333'\naddressing = 'virtual'\nregion = 'x'\n"
    )
    settings = load(env=env)
    assert settings.stores["obs"] == endpoint
    assert settings.stores["ks3"] == Endpoint("http://[::1]:8333", "x", "virtual")
    assert settings.origins["stores"] == str(path)


def test_keys_from_environment_join_address_of_file(env, write):
    write("[stores.obs]\nendpoint = 'https://obs.example.com'\nregion = 'cn-north-4'\n")
    keys = {name: value for name, value in OBS.items() if "KEY" in name}

    found = load(env=env | keys).stores["obs"]

    assert (found.region, found.access_key, found.token) == ("cn-north-4", "canary-1", "")


def test_empty_endpoint_variable_counts_as_unset(env):
    assert load(env=env | {"DANLU_S3_ENDPOINT": "", "DANLU_S3_TOKEN": ""}).stores == {}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"DANLU_OBS_ENDPOINT": ""}, "stores.obs: has access_key, secret_key but no endpoint."),
        ({"DANLU_OBS_SECRET_KEY": ""}, "stores.obs: has only one of access_key and secret_key."),
        ({"DANLU_OBS_ENDPOINT": "obs.example.com"}, "stores.obs.endpoint: must be a URL"),
        ({"DANLU_OBS_ENDPOINT": "https://h/bucket"}, "must be a URL without a path"),
        ({"DANLU_OBS_ADDRESSING": "dns"}, "must be path or virtual, got 'dns' (environment)."),
        ({"DANLU_OBS_ENDPOIN": "x"}, "Did you mean 'obs_endpoint'?"),
    ],
)
def test_a_wrong_endpoint_is_reported_without_its_keys(env, change, text):
    message = refused(env | OBS | change)

    assert text in message
    assert "canary" not in message


def test_invalid_endpoint_is_not_reported_as_missing(env):
    assert "no endpoint" not in refused(env | OBS | {"DANLU_OBS_ENDPOINT": "obs.example.com"})


@pytest.mark.parametrize(
    ("text", "shown_text"),
    [
        ("stores = 5", "stores: must be a table per scheme"),
        ("[stores]\nobs = 'https://h'", "stores.obs: is not a table ("),
        (
            "[stores.swift]\nendpoint = 'https://h'",
            "stores.swift: is not a scheme of object stores (",
        ),
        ("[stores.s3]\nendpiont = 'https://h'", "Did you mean 'endpoint'?"),
        ("[stores.s3]\naccess_key = ['canary']", "stores.s3.access_key: must be text, got *** ("),
    ],
)
def test_wrong_table_of_stores_is_named(env, write, text, shown_text):
    write(text)

    message = refused(env)

    assert shown_text in message
    assert "canary" not in message


def test_the_keys_of_an_endpoint_are_never_shown(env):
    settings = load(env=env | OBS | {"DANLU_OBS_TOKEN": "canary-3"})

    assert settings.stores["obs"].token == "canary-3"
    assert "canary" not in repr(settings)
    assert "canary" not in repr(dataclasses.asdict(settings))


def test_obs_and_s3_share_one_endpoint():
    obs, other, ks3 = Endpoint("https://obs"), Endpoint("https://s3"), Endpoint("https://ks3")

    assert endpoint_of("s3", {"obs": obs}) is obs
    assert endpoint_of("obs", {"s3": other, "ks3": ks3}) is other
    assert endpoint_of("s3", {"obs": obs, "s3": other}) is other
    assert endpoint_of("cos", {"obs": obs, "ks3": ks3}) is None
    assert endpoint_of("obs", {"ks3": ks3}) is None


def test_every_setting_can_be_set_and_has_origin(env):
    names = {field.name for field in dataclasses.fields(Settings)} - {"origins"}

    assert set(load(env=env).origins) == names


def test_the_file_is_where_it_was_read_from(env, monkeypatch):
    monkeypatch.setenv("DANLU_HOME", env["DANLU_HOME"])

    assert load().file == settings_file(env)
    assert load().database == load().home / "danlu.db"


@pytest.mark.parametrize(
    "reported", ["", "10.0.0.5:6379", "head.example.com:6379", "[fd00::5]:6379"]
)
def test_a_ray_head_is_named_by_its_address(env, reported):
    assert load({"ray_address": reported}, env).ray_address == reported
