"""danlu doctor: check this machine, and say what to do about what is wrong."""

from collections.abc import Iterator
from dataclasses import asdict

import click

from danlu.cli import checks
from danlu.cli.checks import FAIL, Finding
from danlu.cli.layout import fields
from danlu.cli.options import Command
from danlu.cli.ray_state import check as check_ray
from danlu.cli.server_state import check as check_server
from danlu.cli.session import Session
from danlu.words import say

_STYLES = {"ok": "green", "warn": "yellow", "fail": "red bold"}


@click.command("doctor", cls=Command)
@click.pass_obj
def command(session: Session) -> int:
    """Check this machine. Exit 1 when something must be repaired."""
    findings = []
    for finding in _findings(session):
        findings.append(finding)
        if not session.json:
            _show(session, finding)
    if session.json:
        session.screen.json({"checks": [asdict(finding) for finding in findings]})
    return int(any(finding.level == FAIL for finding in findings))


def _findings(session: Session) -> Iterator[Finding]:
    settings = session.settings
    yield checks.python()
    yield checks.packages(settings)
    yield checks.home(settings)
    yield checks.stores(settings)
    yield checks.disk(settings)
    yield checks.memory()
    yield checks.isolation(settings)
    yield checks.cgroup()
    yield checks.processes(settings)
    yield checks.gpus(settings)
    yield checks.clock(settings)
    yield checks.proxies(session.env)
    yield check_ray(settings)
    yield check_server(session)


def _show(session: Session, finding: Finding) -> None:
    mark = session.screen.paint(f"{finding.level:<4}", _STYLES[finding.level])
    text = say("doctor.line", title=say(f"doctor.{finding.check}"), text=finding.text)
    session.screen.data("\n".join(fields([(mark, f"{text}\n{finding.todo}".rstrip())])))
