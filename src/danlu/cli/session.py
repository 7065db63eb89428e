"""What every command is given: the settings in force, a screen, and a client when it asks."""

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from danlu import words
from danlu.cli.screen import Screen

if TYPE_CHECKING:
    from danlu.client.api import Client
    from danlu.settings import Settings

    Connect = Callable[[Settings], Client]


class Session:
    """One run of the command line. Nothing is read or connected before it is needed."""

    def __init__(
        self,
        env: Mapping[str, str] | None = None,
        connect: "Connect | None" = None,
        screen: Screen | None = None,
    ) -> None:
        self.env = os.environ if env is None else env
        self.flags: dict[str, Any] = {}
        self.json = False
        self.debug = False
        self.screen = screen or Screen(self.env)
        self._connect = connect or _connect

    @cached_property
    def settings(self) -> "Settings":
        from danlu.settings import load

        return load(self.flags, self.env)

    @cached_property
    def client(self) -> "Client":
        """The server that is set, or this machine's own, started when it is not there."""
        return self._connect(self.settings)

    def choose_language(self) -> None:
        """Speak the language of flag, environment, settings file or locale, in this order."""
        from danlu.errors import UserError

        try:
            lang = self.settings.lang
        except UserError:
            # A broken settings file is told by the command that needs it, not by --help.
            lang = self.flags.get("lang") or self.env.get("DANLU_LANG", "")
        words.use(lang or words.of_locale(self.env))


def _connect(settings: "Settings") -> "Client":
    from danlu.client.api import connect

    return connect(settings)
