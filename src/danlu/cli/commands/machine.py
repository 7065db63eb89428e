"""The commands ``danlu doctor``, ``danlu completion`` and ``danlu settings``."""

from collections.abc import Iterator
from dataclasses import asdict

import click
from click.shell_completion import get_completion_class

from danlu.cli import doctor
from danlu.cli.doctor import FAIL, Finding, check_ray, check_server
from danlu.cli.options import CliCommand
from danlu.cli.session import Session
from danlu.cli.setting_text import as_json, as_text
from danlu.cli.text import fields, table
from danlu.messages import get_message

_STYLES = {"ok": "green", "warn": "yellow", "fail": "red bold"}


@click.command("doctor", cls=CliCommand)
@click.pass_obj
def doctor_command(session: Session) -> int:
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
    yield doctor.python()
    yield doctor.packages(settings)
    yield doctor.home(settings)
    yield doctor.check_embedded_stores(settings)
    yield from doctor.check_stores(settings)
    yield from doctor.disks(settings)
    yield from doctor.output_disks(session)
    yield doctor.memory()
    yield doctor.isolation(settings)
    yield doctor.cgroup()
    yield doctor.processes(settings)
    yield doctor.gpus(settings)
    yield doctor.clock(settings)
    yield doctor.proxies(session.env)
    yield check_ray(settings)
    yield check_server(session)


def _show(session: Session, finding: Finding) -> None:
    mark = session.screen.paint(f"{finding.level:<4}", _STYLES[finding.level])
    text = get_message(
        "doctor.line", title=get_message(f"doctor.{finding.check}"), text=finding.text
    )
    session.screen.data("\n".join(fields([(mark, f"{text}\n{finding.todo}".rstrip())])))


FILES = {
    "bash": 'eval "$(danlu completion bash)"  # ~/.bashrc',
    "zsh": 'eval "$(danlu completion zsh)"  # ~/.zshrc',
    "fish": "danlu completion fish | source  # ~/.config/fish/config.fish",
}


@click.command("completion", cls=CliCommand)
@click.argument("shell", type=click.Choice(list(FILES)))
@click.pass_obj
def completion_command(session: Session, shell: str) -> None:
    """Print the completion script of SHELL."""
    from danlu.cli.app import app

    made = get_completion_class(shell)
    if made is None:  # pragma: no cover - click has all three
        raise click.UsageError(shell)
    source = made(app, {}, "danlu", "_DANLU_COMPLETE").source()
    if session.json:
        session.screen.json({"shell": shell, "script": source, "install": FILES[shell]})
        return
    session.screen.data(source)
    if session.screen.out.isatty():
        session.screen.print_message("completion.install", line=FILES[shell])


@click.command("settings", cls=CliCommand)
@click.pass_obj
def settings_command(session: Session) -> None:
    """Print each setting with its origin: flag, environment, file or default."""
    settings = session.settings
    names = list(settings.origins)
    if session.json:
        session.screen.json(
            {
                name: {"value": as_json(getattr(settings, name)), "origin": settings.origins[name]}
                for name in names
            }
        )
        return
    rows = [(name, settings.origins[name], as_text(name, settings)) for name in names]
    head = tuple(get_message(f"settings.{title}") for title in ("name", "origin", "value"))
    session.screen.data("\n".join(table([head, *rows])))
    session.screen.print_message("settings.file", path=settings.file)
