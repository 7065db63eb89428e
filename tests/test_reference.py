"""The reference pages against the code: everything public has its line, and every line is true."""

import dataclasses
import re
from pathlib import Path

import click
import pytest

from danlu import errors
from danlu.agent.script.environment import NO_PROXY, child_environment, thread_pools
from danlu.cli.app import COMMANDS, app
from danlu.dialects import dls, kdl, modelarts, modelmaker, ti
from danlu.dialects.planning import with_runtime
from danlu.job.plan import Command, Place, Task
from danlu.job.state import Reason
from danlu.server import errors as replies
from danlu.service.diagnosis.hints import CARDS
from danlu.settings import FLAVORS, Endpoint, Secret, Settings, size
from manual_items import items
from pages import ROOT, Page, both, page

NO_STORES = Settings(home=Path("/home"))
EMPTY = Task("j", "job", "modelarts", 1, Place("worker", 0), Command("train.py"))


TWO_NODES = Place("worker", 0, job_id="j", peers={"worker": ("h:1",) * 2, "ps": ("h:2",) * 2})
SERVICES = {
    "ModelArts": (modelarts, TWO_NODES, {"boot_file": "train.py", "nodes": 2}),
    "DLS": (dls, TWO_NODES, {"boot_file": "train.py", "nodes": 2}),
    "KDL": (
        kdl,
        Place("master", 0, peers={"worker": ("h:1",), "master": ("h:2",)}),
        {"module": "trainer.task", "worker_count": 1},
    ),
    "TI": (
        ti,
        Place("worker", 0, peers={"worker": ("h:1",) * 2, "ps": ("h:2",)}),
        {
            "entry_point": "train.py",
            "channels": {"name": "cos://bucket/data"},
            "hyperparameters": {"name": 1},
        },
    ),
    "ModelMaker": (modelmaker, Place("worker", 0), {"model_file": "model.py"}),
}


def names(found: Page) -> list[str]:
    """Return the code in the first cell of every row."""
    return [match[1] for row in found.rows() if (match := re.match(r"`([^`]+)`", row[0]))]


@pytest.mark.parametrize("found", both("docs/reference/settings"), ids=["en", "zh"])
def test_every_setting_has_its_line_and_default(found):
    documented = {row[0].strip("`"): row[1] for row in found.rows()}
    fields = {f.name: f for f in dataclasses.fields(Settings) if f.name != "origins"}

    assert list(documented) == sorted(documented, key=list(documented).index)
    assert documented.keys() == fields.keys()
    for name, field in fields.items():
        shown = documented[name].strip("`")
        if name in ("home", "store", "flavors"):
            continue
        default = field.default
        if default in ("", ()) or name == "stores":
            assert shown in ("empty", "空"), name
        elif isinstance(default, bool):
            assert shown == str(default).lower(), name
        elif isinstance(default, int | float):
            assert size(shown) == default, name
        else:
            assert shown == default, name


def test_page_has_the_number_of_flavors():
    assert len(FLAVORS) == 35


def commands() -> dict[str, click.Command]:
    """Return every command by its full name."""
    found: dict[str, click.Command] = {}
    context = click.Context(app)
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found |= {f"danlu {name} {sub}": c for sub, c in command.commands.items()}
        else:
            found[f"danlu {name}"] = command
    return found


@pytest.mark.parametrize("found", both("docs/reference/cli"), ids=["en", "zh"])
def test_every_command_has_its_section(found):
    shown = [title.strip("`") for _, title in found.headings if title.startswith("`danlu")]

    assert shown == list(commands())


@pytest.mark.parametrize("found", both("docs/reference/cli"), ids=["en", "zh"])
def test_every_option_is_explained_where_it_belongs(found):
    common = {name for option in app.params for name in option.opts} | {"-h", "--help"}
    faults = {}
    for name, command in commands().items():
        section = found.section(f"`{name}`")
        options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
        known = {spelling for p in options for spelling in (*p.opts, *p.secondary_opts)} - common
        shown = {
            spelling
            for row in re.findall(r"^\| (`-.*?) \|", section, re.MULTILINE)
            for spelling in re.findall(r"`(--?[a-z-]+)", row)
        }
        if known != shown:
            faults[name] = {"not explained": known - shown, "not there": shown - known}

    assert faults == {}


@pytest.mark.parametrize("found", both("docs/reference/rest"), ids=["en", "zh"])
def test_every_route_has_its_line(found):
    from danlu.server.routes import code as routes_code
    from danlu.server.routes import definitions as routes_definitions
    from danlu.server.routes import files as routes_files
    from danlu.server.routes import jobs
    from danlu.server.routes import jobs as routes_jobs
    from danlu.server.routes import server as routes_server

    served = {
        f"{method} {route.path}"
        for module in (
            *(routes_server, routes_jobs, jobs, routes_files),
            *(routes_code, routes_definitions),
        )
        for route in module.router.routes
        for method in route.methods
    }
    assert {name for name in names(found) if " /v1/" in name} == served


OURS = (errors.__name__, replies.__name__)  # not those that other tests define


def error_kinds(kind: type[errors.DanluError] = errors.DanluError) -> list[type[errors.DanluError]]:
    return [kind, *(k for child in kind.__subclasses__() for k in error_kinds(child))]


@pytest.mark.parametrize("found", both("docs/reference/rest"), ids=["en", "zh"])
def test_every_error_code_has_its_line(found):
    rows = {row[0].strip("`"): row[1:3] for row in found.rows()}
    kinds = [kind for kind in error_kinds() if kind.__module__ in OURS]

    for kind in kinds:
        assert rows.get(kind.code) == [str(kind.http_status), str(kind.exit_code)], kind.code


@pytest.mark.parametrize("found", both("docs/guides/failures"), ids=["en", "zh"])
def test_every_reason_has_its_line_and_its_retries(found):
    rows = {row[0].strip("`"): row[1].strip("`") for row in found.rows()}

    for reason in Reason:
        asked = reason.retries(5)
        assert rows.get(reason.value) == {5: "retries", 1: "1", 0: "0"}[asked], reason


@pytest.mark.parametrize("found", both("docs/reference/environment"), ids=["en", "zh"])
@pytest.mark.parametrize("service", SERVICES)
def test_every_variable_of_a_script_has_its_line(found, service):
    dialect, place, request = SERVICES[service]
    spec = dialect.read({"code": "obs://bucket/code", **request})
    spec = dataclasses.replace(spec, tensorflow="1.15.5", max_steps=3)
    command = with_runtime(dialect.command(spec, place), spec)
    command = dataclasses.replace(command, scratch="obs://bucket/rehearsal")
    task = Task("j", "job", dialect.NAME, 1, place, command)
    every = found.headings[1][1]

    rows = found.section(every) + found.section(service)
    reported = set(re.findall(r"^\| `([^`]+)`", rows, re.MULTILINE))
    given = set(child_environment(task, "/box", {}, {}, NO_STORES))
    given -= {"BATCH_CUSTOM1_HOSTS"}  # the next one
    given |= {NO_PROXY}  # where there are several tasks
    given |= thread_pools(Place("worker", 0, cpus=2), cores=8).keys()  # however many there are here
    twins = {f"SM_{name[3:]}" for name in reported if name.startswith("TM_")}
    assert given == reported | twins


@pytest.mark.parametrize("found", both("docs/reference/environment"), ids=["en", "zh"])
def test_every_variable_of_store_elsewhere_has_its_line(found):
    key = Secret("key")
    stores = {"obs": Endpoint("https://obs.example", "cn-north-4", "virtual", key, key, key, "/ca")}
    elsewhere = dataclasses.replace(NO_STORES, stores=stores)

    given = {*child_environment(EMPTY, "/box", {}, {}, elsewhere)}
    rows = found.section(found.headings[2][1])

    reported = set(re.findall(r"^\| `([^`]+)`", rows, re.MULTILINE))
    assert given - {*child_environment(EMPTY, "/box", {}, {}, NO_STORES)} == reported


@pytest.mark.parametrize("found", both("docs/reference/environment"), ids=["en", "zh"])
def test_what_script_keeps_of_our_environment_is_listed(found):
    spoken = set(re.findall(r"\w+", found.prose.split("##")[0]))
    own = {name: "/" for name in spoken if name.isupper()}  # TMPDIR must be a folder

    more = {"LC_ALL": "C", "NVIDIA_X": "1", "no": "1"}
    kept = child_environment(EMPTY, "/box", {}, {**own, **more}, NO_STORES)
    assert set(own) - {"DANLU_", "GPU", "LC_", "NVIDIA_"} <= set(kept)
    assert {"LC_ALL", "NVIDIA_X"} < set(kept)
    assert "no" not in kept


DIALECTS = sorted((ROOT / "docs" / "dialects").glob("*.md"))
STATUS = {"yes": "是", "partly": "部分", "no": "否"}


@pytest.mark.parametrize("path", DIALECTS, ids=lambda path: path.name)
def test_every_promise_names_the_test_that_holds_it(path):
    faults = []
    for promise, status, test, *_ in Page(path).rows():
        held = re.findall(r"`(tests/\S+\.py)::(\w+)`", test)
        reason = re.sub(r"`tests/\S+`", "", test).strip(" -")
        missing = [f"{file}::{name}" for file, name in held if not _there(file, name)]
        if missing:
            faults.append((promise, missing))
        elif status in ("yes", "partly", "是", "部分"):
            faults += [] if held else [(promise, "no test")]
        elif status not in ("no", "否") or not reason:
            faults.append((promise, f"status {status!r} without a reason"))

    assert faults == []


@pytest.mark.parametrize("name", ["kdl", "modelarts", "ti", "modelmaker", "dls"])
def test_promises_of_service_are_same_in_both_languages(name):
    english, chinese = both(f"docs/dialects/{name}")

    assert len(english.rows()) == len(chinese.rows())
    for ours, theirs in zip(english.rows(), chinese.rows(), strict=True):
        assert STATUS[ours[1]] == theirs[1], ours[0]
        assert _items(ours[0]) == _items(theirs[0]), ours[0]
        assert re.findall(r"`tests/\S+`", ours[2]) == re.findall(r"`tests/\S+`", theirs[2]), ours[0]


@pytest.mark.parametrize("name", ["kdl", "modelarts", "ti", "modelmaker", "dls"])
def test_every_statement_of_services_manual_has_its_row(name):
    listed = [item for row in page(f"docs/dialects/{name}.md").rows() for item in _items(row[0])]

    assert items(name) - set(listed) == set()
    assert sorted({item for item in listed if listed.count(item) > 1}) == []


def _items(promise: str) -> list[str]:
    """Return the statements of the manual that a row stands for: the numbers at its end."""
    number = r"\d[\d.]*(?:-[\w.]+)*"
    found = re.search(rf"[(（]({number}(?:(?:, |、){number})*)[)）]$", promise)
    return re.split(", |、", found[1]) if found else []


@pytest.mark.parametrize("found", both("docs/guides/pitfalls"), ids=["en", "zh"])
def test_every_hint_has_its_line_and_test(found):
    rows = [row for row in found.rows() if row[0].startswith("`")]
    tests = [re.findall(r"`(tests/[^\s`]+\.py)::(\w+)`", row[-1]) for row in found.rows()]

    assert sorted(row[0].strip("`") for row in rows) == sorted(CARDS)
    assert all(tests)
    assert all(_there(*test) for of_row in tests for test in of_row)


def _there(file: str, name: str) -> bool:
    path = ROOT / file
    return path.exists() and bool(
        re.search(rf"^\s*(?:async )?def {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    )


def test_the_version_is_one():
    import danlu

    assert f'version = "{danlu.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert page("CHANGELOG.md").headings[1][1].startswith(danlu.__version__)
