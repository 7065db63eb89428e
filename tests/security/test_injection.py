"""What a person writes reaches the script as it is, byte for byte, on every road there is."""

import hashlib
import json
import random
import shlex

import pytest
from running_platform import Platform, received
from sample_requests import request_of

from contracts.fake_executor import ClockworkExecutor
from danlu import dialects
from danlu.dialects.planning import with_runtime
from danlu.job.plan import Place
from ti.tensorflow import TensorFlow

NASTY = (
    *("plain", "", " ", "  two  blanks ", "\t", "a\nb", "\n", "a\r\nb", "\x01\x1b[31m\x7f", "\x80"),
    *("; rm -rf /", "$(id)", "`id`", "${HOME}", "$HOME", "a && b", "a | b", "> /x", "#", "!!"),
    *("'", '"', "\\", "\\n", "\\'", "'\\''", '"; exit "', "a=b=c", "=", "--lr=9", "--help", "-rf"),
    *("--", "-", "*", "?", "[a]", "{a,b}", "~", "%s", "%(x)s", "{0}", "{}", "%%", "^", "@file"),
    *("中文", "caf\u00e9", "cafe\u0301", "\u202e", "\ufeff", "\U0001f4a9", "\u2028", "\uffff"),
    *("null", "true", "007", "1e5", "NaN", "[1, 2]", '{"a": 1}', "None", "a,b", "x" * 100_000),
)  # fmt: skip
SCRIPT = """
import hashlib, json, os, sys
def told(data):  # a line of the log has its limits
    return data.hex() if len(data) < 2000 else hashlib.sha256(data).hexdigest()
own = {name.decode(): told(value) for name, value in os.environb.items()}
print("HEARD " + json.dumps({"argv": [told(os.fsencode(word)) for word in sys.argv[1:]],
                             "env": own}))
"""
PROGRAM = {
    "train.py": SCRIPT,
    "setup.py": "from setuptools import setup\nsetup(name='trainer', packages=['trainer'])\n",
    "trainer/__init__.py": "",
    "trainer/task.py": SCRIPT,
}
NAMED = {f"p{number}": text for number, text in enumerate(NASTY)}
# Bounded by what a program can be started with: the long one is no variable of TI, three times.
SHORT = {name: text for name, text in NAMED.items() if len(text) < 1000}


@pytest.fixture(scope="module")
def platform(tmp_path_factory):
    made = Platform(tmp_path_factory.mktemp("platform"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def code(platform):
    return platform.code("program", PROGRAM)


def hexed(*words: str) -> list[str]:
    return [shown(word.encode()) for word in words]


def shown(data: bytes) -> str:
    return data.hex() if len(data) < 2000 else hashlib.sha256(data).hexdigest()


def expected(dialect: str, named: dict[str, str]) -> list[str]:
    """Return the words a script of this service gets for its parameters."""
    if dialect == "kdl":
        return [f"--{name}={text}" for name, text in named.items() if text]
    if dialect == "ti":
        pairs = (
            [f"--{name}", text] if text.strip() else [f"--{name}"] for name, text in named.items()
        )
        return [word for pair in pairs for word in pair]
    return [f"--{name}={text}" for name, text in named.items()]  # fmt: skip


def check_env(found: dict, named: dict[str, str]) -> None:
    assert [found["env"][f"E_{name}"] for name in named] == hexed(*named.values())


ENTRY = {
    "modelarts": {"boot_file": "train.py"},
    "dls": {"boot_file": "train.py"},
    "kdl": {"module": "trainer.task"},
    "ti": {"entry_point": "train.py"},
}


@pytest.mark.parametrize("dialect", ENTRY)
def test_over_rest_every_byte_reaches_the_script(platform, code, dialect):
    named = SHORT if dialect == "ti" else NAMED
    field = "hyperparameters" if dialect == "ti" else "parameters"
    words = {"job_args": shlex.join(NASTY)} if dialect == "kdl" else {}
    env = {f"E_{name}": text for name, text in NAMED.items()}
    asked = {"dialect": dialect, "code": code, **ENTRY[dialect], field: named, "env": env, **words}

    ended = platform.run(asked)

    found = received(platform.log(ended))
    before = list(NASTY) if words else []
    # DLS always passes these two.
    first, last = (["--data_url="], ["--num_gpus=1"]) if dialect == "dls" else ([], [])
    assert found["argv"] == hexed(*first, *before, *expected(dialect, named), *last)
    check_env(found, NAMED)
    if dialect == "ti":
        assert found["env"]["TM_HPS"] == shown(json.dumps(named).encode())
        each = [found["env"][f"TM_HP_{name.upper()}"] for name in named]
        assert each == hexed(*named.values())


def test_over_the_command_line_too(platform):
    folder = platform.program("by-hand", {"train.py": SCRIPT})
    flags = [word for name, text in NAMED.items() for word in ("-p", f"{name}={text}")]
    env = [word for name, text in NAMED.items() for word in ("-e", f"E_{name}={text}")]

    code, out, err = platform.types("run", str(folder), "--boot-file", "train.py", *flags, *env)

    assert code == 0, err
    found = received(out)
    assert found["argv"] == hexed(*expected("modelarts", NAMED))
    check_env(found, NAMED)


def test_words_after_the_dashes_are_words(platform):
    folder = platform.program("by-words", PROGRAM)

    code, out, err = platform.types("run", str(folder), "--module", "trainer.task", "--", *NASTY)

    assert code == 0, err
    assert received(out)["argv"] == hexed(*NASTY)


def test_from_a_job_file_too(platform):
    platform.program("by-file", {"train.py": SCRIPT})
    # JSON's escapes are TOML's, but for one character.
    rows = [f"{name} = {_toml(text)}" for name, text in NAMED.items()]
    env = [f"E_{name} = {_toml(text)}" for name, text in NAMED.items()]
    lines = ['dialect = "modelarts"', 'code = "by-file/"', 'boot_file = "train.py"', "[parameters]"]
    text = "\n".join([*lines, *rows, "[env]", *env])
    (platform.folder / "job.toml").write_text(text, encoding="utf-8")

    code, out, err = platform.types("submit", "job.toml", "--follow")

    assert code == 0, err
    found = received(out)
    assert found["argv"] == hexed(*expected("modelarts", NAMED))
    check_env(found, NAMED)


def _toml(text: str) -> str:
    return (
        json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f").replace("\x80", "\\u0080")
    )


def test_from_the_sdk_too(platform, capfd):
    folder = platform.program("by-sdk", {"train.py": SCRIPT})

    with platform.inside():
        TensorFlow(entry_point="train.py", source_dir=str(folder), hyperparameters=SHORT).fit(
            job_name="by-sdk"
        )

    found = received(capfd.readouterr().out)
    assert found["argv"] == hexed(*expected("ti", SHORT))
    assert found["env"]["TM_HPS"] == shown(json.dumps(SHORT).encode())


def test_the_parameters_of_modelmaker_reach_its_file(tmp_path):
    texts = {name: text for name, text in NAMED.items() if not _has_value(text)}

    (command,) = _commands("modelmaker", {"parameters": texts}, tmp_path)

    (text,) = command.files.values()
    assert json.loads(text)["parameters"] == texts


def _has_value(text: str) -> bool:
    """Return True if this service parses the text as a value: JSON, and Python's constants."""
    if text in ("None", "True", "False"):
        return True
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("dialect", ["modelarts", "dls", "kdl", "ti"])
def test_texts_by_chance_stay_what_they_are(tmp_path, dialect, count):
    chance = random.Random(count)
    for _ in range(count):
        named = {f"p{n}": _by_chance(chance) for n in range(3)}
        field = "hyperparameters" if dialect == "ti" else "parameters"
        env = {f"E{n}": _by_chance(chance) for n in range(3)}

        command, *_ = _commands(dialect, {field: named, "env": env, "job_args": None}, tmp_path)

        words = [word for word in command.args if word.startswith("--p") or dialect == "ti"]
        assert words == expected(dialect, named)
        assert {name: command.env[name] for name in env} == env


def _by_chance(chance: random.Random) -> str:
    pieces = [
        *NASTY[:-1],
        chr(chance.randrange(1, 0xD800)),
        chr(chance.randrange(0xE000, 0x110000)),
    ]
    return "".join(chance.choices(pieces, k=chance.randint(0, 6)))


def _commands(dialect, changes, folder):
    request = {**request_of(dialect), **changes}
    request = {name: value for name, value in request.items() if value is not None}
    known = dialects.get(dialect)
    spec = known.read(request)
    executor = ClockworkExecutor(folder)
    places: list[Place] = list(executor.place("job", known.roles(spec)))
    return [with_runtime(known.command(spec, place), spec) for place in places]
