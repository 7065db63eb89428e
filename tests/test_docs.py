"""Checks of the pages: links, commands, and equal structure in both languages."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from danlu.cli.app import app
from danlu.cli.session import Session
from pages import ROOT, Block, Page, every
from postgres import PASSWORD

PAGES = every()
ENGLISH = [
    page
    for page in PAGES
    if not page.path.name.endswith(".zh-CN.md")
    and (page.path.name == "README.md" or ROOT / "docs" in page.path.parents)
]


def name_of(page: object) -> str:
    return page.path.relative_to(ROOT).as_posix() if isinstance(page, Page) else ""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    broken = []
    for link in page.links:
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = Page((page.path.parent / name).resolve() if name else page.path)
        if not target.path.exists() or (anchor and anchor not in target.anchors):
            broken.append(link)

    assert broken == []


@pytest.mark.parametrize("page", ENGLISH, ids=name_of)
def test_both_languages_have_equal_structure(page):
    other = Page(page.path.with_suffix("").with_suffix(".zh-CN.md"))

    assert other.path.exists()
    assert [_shape(title) for title in page.headings] == [_shape(t) for t in other.headings]
    assert [_code(block) for block in page.blocks] == [_code(block) for block in other.blocks]
    assert [_spans(row[0]) for row in page.rows()] == [_spans(row[0]) for row in other.rows()]


def _shape(heading: tuple[int, str]) -> tuple[int, list[str]]:
    """What a translation keeps of a heading: its level and the code in it."""
    level, title = heading
    return level, _spans(title)


def _spans(text: str) -> list[str]:
    return sorted(re.findall(r"`[^`]+`", text))


def _code(block: Block) -> list[str]:
    """What a translation keeps of a block: all but comments, and nothing of a drawing."""
    lines = (re.sub(r"(^|\s+)#.*", "", line) for line in block.text.splitlines() if block.kind)
    return [f"{block.kind} {block.run}", *(line for line in lines if line)]


def test_a_readme_is_short():
    lengths = {
        page.path.name: page.text.count("\n") for page in PAGES if "README" in str(page.path)
    }

    assert {name: lines for name, lines in lengths.items() if lines > 150} == {}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_compiles(page):
    for block in page.blocks:
        if block.kind == "python":
            compile(block.text, str(page.path), "exec")


def command_lines(page: Page) -> Iterator[str]:
    """Yield every ``danlu`` line of a page; inline ones with a gap in them are no commands."""
    for block in page.blocks:
        if block.kind in ("sh", "console"):
            for line in block.text.replace("\\\n", " ").splitlines():
                words = line.removeprefix("$ ").strip()
                if words.startswith("danlu "):
                    yield words
    for span in page.spans:
        if span.startswith("danlu ") and not re.search(r"[…\[\]|]", span):
            yield span


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_commands(page):
    faults = {}
    for line in command_lines(page):
        try:
            parse(line)
        except Exception as error:
            faults[line] = error

    assert faults == {}


def parse(line: str) -> None:
    """Hand one command line to click, which reads every word of it and runs nothing."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if word[0] in "|&;<>":
            break
        words.append(word)
    command: click.Command = app
    context = click.Context(app, info_name="danlu", obj=Session(env={}))
    rest = words[1:]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"no command {name!r}"
        context = click.Context(found, info_name=name, parent=context)
        command = found
    if not rest:
        return  # the name of a command, in a sentence
    # --help and --version end the reading, and well.
    with contextlib.suppress(click.exceptions.Exit):
        command.make_context(command.name or "danlu", rest, parent=context.parent or context)


POSTGRES = ROOT / "docs" / "guides" / "postgres.md"
RUNNABLE = [page for page in ENGLISH if any(block.run for block in page.blocks)]


@pytest.mark.parametrize("page", [p for p in RUNNABLE if p.path != POSTGRES], ids=name_of)
def test_what_is_marked_run_runs(page, tmp_path):
    """All marked blocks of a page, one after the other, as a reader would."""
    follow(page, tmp_path, {}, lambda text: text)


def test_what_is_marked_run_runs_with_a_database(postgres, tmp_path):
    (page,) = [page for page in RUNNABLE if page.path == POSTGRES]
    own = {"PGHOST": "127.0.0.1", "PGPORT": str(postgres.port), "PGUSER": "postgres"}
    own |= {"PGPASSWORD": PASSWORD, "PATH": f"{postgres.programs}:{os.environ['PATH']}"}
    try:
        follow(page, tmp_path, own, lambda text: text.replace(":5432/", f":{postgres.port}/"))
    finally:
        postgres.execute("DROP DATABASE IF EXISTS danlu WITH (FORCE)")
        postgres.execute("DROP ROLE IF EXISTS danlu")


def follow(page, tmp_path, own, meant):
    home = tmp_path / "home"
    here = tmp_path / "here"
    shutil.copytree(ROOT / "examples", here / "examples")
    env = {
        **os.environ,
        **own,
        "DANLU_HOME": str(home),
        "XDG_RUNTIME_DIR": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{own.get('PATH', os.environ['PATH'])}",
    }
    try:
        for block in page.blocks:
            if block.run:
                program = ["bash", "-euo", "pipefail", "-c"]
                if block.kind == "python":
                    program = [sys.executable, "-c"]
                done = subprocess.run(
                    [*program, meant(block.text)], cwd=here, env=env, capture_output=True, text=True
                )
                assert done.returncode == 0, f"{block.text}\n{done.stdout}\n{done.stderr}"
    finally:
        subprocess.run(["danlu", "down"], cwd=here, env=env, capture_output=True)
