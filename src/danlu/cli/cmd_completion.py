"""danlu completion: what a shell needs to complete commands, options and job names."""

import click
from click.shell_completion import get_completion_class

from danlu.cli.options import Command
from danlu.cli.session import Session

FILES = {
    "bash": 'eval "$(danlu completion bash)"  # ~/.bashrc',
    "zsh": 'eval "$(danlu completion zsh)"  # ~/.zshrc',
    "fish": "danlu completion fish | source  # ~/.config/fish/config.fish",
}


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(list(FILES)))
@click.pass_obj
def command(session: Session, shell: str) -> None:
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
        session.screen.say("completion.install", line=FILES[shell])
