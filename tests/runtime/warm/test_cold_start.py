"""Why a script gets a process of its own."""

import os
from pathlib import Path

import pytest

from danlu.agent.script.warm_client import _KERAS_3, _keras
from danlu_runtime.start.activate import _comes_with_keras_2
from danlu_runtime.warm import KERAS, env_check, script_start


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "code").mkdir()
    return tmp_path / "code"


def why(code: Path, *, keras: bytes = b"{}", packages=(), module: bool = False) -> str:
    script = "trainer" if module else str(code / "train.py")
    launch = {"run": script, "module": module, "sys_path": [], "code": str(code)}
    return script_start.cold_start_reason(launch, packages, {"six", "numpy"}, keras)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("os.environ['TF_XLA_FLAGS'] = 'x'", "TF_XLA_FLAGS"),
        ('os.environ.setdefault("KMP_AFFINITY", "none")', "KMP_AFFINITY"),
        ("os.putenv('OMP_NUM_THREADS', '1')", "OMP_NUM_THREADS"),
        ("run('TF_ENABLE_ONEDNN_OPTS=0 python x.py')", "TF_ENABLE_ONEDNN_OPTS"),
        ("os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'", "TF_CPP_MIN_LOG_LEVEL"),
        ("x['TF_CPP_MIN_LOG_LEVEL'] = '2'; y['TF_CPP_MIN_LOG_LEVEL']", "TF_CPP_MIN_LOG_LEVEL"),
        ("os.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'", ""),
        ("os.environ['TF_CONFIG'] = '{}'", ""),
        ("os.environ['PYTHONHASHSEED'] = '0'", ""),  # for the programs it starts
        ("os.environ.update(MINE=str(1),\n    OMP_NUM_THREADS = '1')", "OMP_NUM_THREADS"),
        ("os.environ.update(TF_CPP_MIN_LOG_LEVEL='2')", "TF_CPP_MIN_LOG_LEVEL"),
        ("os.environ |= dict(MINE='1',\n    OMP_NUM_THREADS='1')", "OMP_NUM_THREADS"),
        ("run(x, OMP_NUM_THREADS == 4)", ""),
        ("OMP_NUM_THREADS = 4", ""),
        ("os.environ['MY_TF_DATA'] = '1'", ""),
    ],
)
def test_code_that_may_set_variable_before_import(code: Path, text: str, named: str) -> None:
    (code / "train.py").write_text(text, encoding="utf-8")
    assert why(code) == (f"train.py names the variable {named}" if named else "")


@pytest.mark.parametrize(
    "text",
    [
        "os.environ['OMP' + '_NUM_THREADS'] = '1'",
        "for k, v in pairs:\n    os.environ[k] = v",
        "os.environ.update(json.load(open('env.json')))",
        "os.environ.update({**given})",
        "os.environ.update(MINE='1', **given)",
        "os.environ.update({k: v for k, v in pairs})",
        "environ |= given",
        "os.environ.setdefault(*line.split('='))",
        "os.environ.__setitem__(name, value)",
        "os.putenv(name, value)",
        "env = os.environ\nenv[name] = value",
        "del os.environ[name]",
        "print 'Python 2'\nos.environ[name] = value",
        "print 'Python 2'\nos.environ.update(given)",
    ],
)
def test_code_setting_variables_of_unknown_names_is_found(code: Path, text: str) -> None:
    (code / "train.py").write_text(text, encoding="utf-8")
    assert why(code) == "train.py sets a variable whose name is not written there"


@pytest.mark.parametrize(
    "text",
    [
        "os.environ['MINE'] = value",
        "os.environ.update({'MINE': '1', **{'ALSO': '2'}})",
        "os.environ.update(dict(MINE='1'))",
        "os.environ.setdefault('MINE', value)",
        "value = os.environ[name] or os.environ.get(name)",
        "env = dict(os.environ, MINE='1') or {**os.environ} or os.environ.copy()",
        "subprocess.run(command, env=os.environ)",
        "for name in os.environ:\n    print(name in os.environ)",
        "given.update(other)\nname[key] = value\nos.environ.pop('MINE')",
        "print 'Python 2'\nos.environ['MINE'] = '1'",
    ],
)
def test_code_that_only_reads_variables_or_names_them(code: Path, text: str) -> None:
    (code / "train.py").write_text(text, encoding="utf-8")
    assert why(code) == ""


def test_variable_changed_too_late_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("danlu_runtime.gpus.is_there", lambda: False)
    watch = env_check.LateEnvCheck({"TF2_BEHAVIOR"})
    watch.begin()
    for name in ("MINE", "TF2_BEHAVIOR", "TF_CONFIG", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    watch("numpy")
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("OMP_NUM_THREADS", "11")
    watch("json")
    assert capsys.readouterr().err == ""
    watch("tensorflow.python")
    reported = "[danlu] OMP_NUM_THREADS changed too late: tensorflow is loaded already."
    assert capsys.readouterr().err.startswith(reported)
    watch("tensorflow")
    assert capsys.readouterr().err == ""


def test_variable_of_gpus_counts_where_there_are_some(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "os.environ['CUDA_VISIBLE_DEVICES'] = '0'"
    (code / "train.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr("danlu_runtime.gpus.is_there", lambda: False)
    assert why(code) == ""
    monkeypatch.setattr("danlu_runtime.gpus.is_there", lambda: True)
    assert why(code) == "train.py names the variable CUDA_VISIBLE_DEVICES"


@pytest.mark.parametrize("name", ["six.py", "numpy/__init__.py", "six.cpython-311.so"])
def test_code_that_has_module_of_loaded_name(
    code: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / name).parent.mkdir(exist_ok=True)
    (code / name).touch()
    expected = f"the code has a module {name.split('/')[0].split('.')[0]} of its own"
    assert why(code) == expected
    monkeypatch.chdir(code)
    assert why(code, module=True) == expected


def test_nested_names_and_plain_folders_are_ignored(code: Path) -> None:
    (code / "lib").mkdir()
    (code / "lib/six.py").touch()
    (code / "numpy").mkdir()
    assert why(code) == ""


def test_changed_keras_settings_force_a_cold_start(code: Path) -> None:
    path = Path(os.environ["HOME"], KERAS)
    path.parent.mkdir(parents=True)
    path.write_text('{"b": 1, "a": 2}', encoding="utf-8")
    assert why(code, keras=b'{"a": 2,\n "b": 1}') == ""
    assert why(code, keras=b"{}") == "~/.keras/keras.json is not as Keras writes it"
    path.write_text("{", encoding="utf-8")
    assert why(code) == "~/.keras/keras.json is not as Keras writes it"


def test_packages_of_its_own(code: Path, tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    assert why(code, packages=[str(tmp_path / "packages")]) == ""
    (tmp_path / "packages" / "x.py").touch()
    assert why(code, packages=[str(tmp_path / "packages")]) == "the task has packages of its own"


def test_more_code_than_can_be_looked_through(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env_check, "_MOST_FILES", 2)
    for name in "abc":
        (code / f"{name}.py").touch()
    assert why(code) == "the code has more than 2 files"


@pytest.mark.parametrize("version", ["0.12", "1.15.5", "2.0", "2.15.1", "2.16", "2.21.0", "3.0"])
def test_agent_and_runtime_agree_on_keras_2(version: str) -> None:
    assert (_keras(version) < _KERAS_3) == _comes_with_keras_2(version)
