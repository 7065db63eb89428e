import json
import os
import subprocess
import sys

import pytest

from danlu.cli.app import COMMANDS
from danlu.cli.main import main
from danlu.errors import Unavailable

LIST = (
    "import sys, json\n"
    "from danlu.cli.main import main\n"
    "code = main(json.loads(sys.argv[1]))\n"
    "print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    "sys.exit(code)"
)
# Each would cost more than the whole command line does.
HEAVY = {
    "alembic", "asyncio", "fastapi", "http.client", "numpy", "pydantic", "ray", "rich",
    "sqlalchemy", "ssl", "starlette", "tensorflow", "uvicorn",
}  # fmt: skip


def loaded(*args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LIST, json.dumps(args)], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("args", [["--help"], ["run", "--help"], ["settings"], ["--version"]])
def test_light_commands_stay_light(args):
    assert loaded(*args) & HEAVY == set()


def test_help_imports_no_command():
    assert {name for name in loaded("--help") if "cli.cmd_" in name} == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_takes_common_options(danlu, name):
    result = danlu(name, "--help")

    assert result.code == 0
    assert f"Usage: danlu {name}" in result.out
    for option in ("--json", "--lang", "--color", "--debug"):
        assert option in result.out


def test_help_lists_every_command_in_both_languages(danlu):
    english, chinese = danlu("--help").out, danlu("--lang", "zh", "--help").out

    assert all(f"\n  {name} " in english for name in COMMANDS)
    assert "run a script and follow its log" in english
    assert "运行训练脚本并跟踪日志" in chinese


@pytest.mark.parametrize("args", [(), ("store",)])
def test_missing_command_shows_help_without_error(danlu, args):
    result = danlu(*args)

    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("Usage: danlu")


def test_a_misspelt_command_is_offered_the_near_one(danlu):
    result = danlu("sumbit")

    assert result.code == 2
    assert (
        result.err == "error: There is no command named 'sumbit'.\nhint: Did you mean 'submit'?\n"
    )


def test_a_wrong_option_is_an_error_of_usage(danlu):
    result = danlu("ls", "--nonsense")

    assert result.code == 2
    assert "--nonsense" in result.err
    assert "danlu ls --help" in result.err
    assert danlu("ls", "--nonsense", "--json").json["error"]["code"] == "refused"


def test_a_wrong_setting_is_reported_in_one_line(danlu, monkeypatch):
    monkeypatch.setenv("DANLU_PORT", "many")

    result = danlu("settings")

    assert result.code == 2
    assert "got 'many' (environment)" in result.err


@pytest.mark.parametrize("args", [(), ("--lang", "zh")])
def test_a_wrong_setting_does_not_hide_the_help(danlu, monkeypatch, args):
    monkeypatch.setenv("DANLU_PORT", "many")

    assert danlu(*args, "--help").code == 0


@pytest.mark.parametrize(
    ("variable", "value", "word"),
    [("LANG", "zh_CN.UTF-8", "错误："), ("DANLU_LANG", "zh", "错误："), ("LANG", "C", "error:")],
)
def test_the_language_is_chosen_by_setting_and_locale(danlu, monkeypatch, variable, value, word):
    monkeypatch.setenv(variable, value)

    assert danlu("show", "x").err.startswith(word)


def failing(error):
    def connect(settings):
        raise error

    return connect


def test_fault_of_ours_keeps_its_traceback_in_file(home, capfd):
    code = main(["ls"], connect=failing(KeyError("odd")))

    seen = capfd.readouterr()
    assert code == 1
    assert "error: Internal error: KeyError: 'odd'" in seen.err
    assert "Traceback" not in seen.err
    assert str(home / "cli.log") in seen.err
    assert "Traceback" in (home / "cli.log").read_text()


def test_debug_shows_the_traceback(home, capfd):
    main(["ls", "--debug"], connect=failing(KeyError("odd")))

    assert "Traceback" in capfd.readouterr().err
    assert not (home / "cli.log").exists()


def test_trouble_under_us_keeps_its_hint(capfd):
    error = Unavailable("The server does not answer.", hint="Look into its log.")

    code = main(["ls"], connect=failing(error))

    seen = capfd.readouterr()
    assert code == 1
    assert "error: The server does not answer." in seen.err
    assert "Internal" not in seen.err
    assert "hint: Look into its log." in seen.err


def test_a_file_that_cannot_be_used_is_named(capfd):
    error = PermissionError(13, "Permission denied", "/some/file")

    assert main(["ls"], connect=failing(error)) == 1

    assert capfd.readouterr().err == "error: /some/file: Permission denied.\n"


def test_a_home_that_cannot_be_written_is_reported(capfd, monkeypatch):
    monkeypatch.setenv("DANLU_HOME", "/proc/home-of-danlu")

    assert main(["ls"]) == 2

    assert "cannot be written" in capfd.readouterr().err


def test_faults_of_ours_are_json_too(capfd):
    main(["ls", "--json"], connect=failing(KeyError("odd")))

    error = json.loads(capfd.readouterr().out)["error"]
    assert error["code"] == "internal"
    assert error["log"].endswith("cli.log")


def test_ctrl_c_is_no_traceback(capfd):
    assert main(["ls"], connect=failing(KeyboardInterrupt())) == 130
    assert "Traceback" not in capfd.readouterr().err


def test_a_reader_that_leaves_early_is_no_error(home):
    program = "from danlu.cli.main import main; import sys; sys.exit(main(['settings']))"
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [sys.executable, "-c", program], stdout=writing, stderr=subprocess.PIPE, text=True
    )

    os.close(writing)
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr
