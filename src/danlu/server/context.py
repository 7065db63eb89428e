"""What every route is given."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from danlu.server.idle import Idle
from danlu.server.polling import Polls
from danlu.settings import Settings

if TYPE_CHECKING:
    from danlu.service.jobs import Service


@dataclass
class Context:
    """One running server. ``shutdown`` and ``url`` are set by the process that serves."""

    service: "Service"
    settings: Settings
    polls: Polls
    idle: Idle
    shutdown: Callable[[], None] = lambda: None
    url: str = ""
    started: float = field(default_factory=time.time)


async def _context(request: Request) -> Context:  # a plain function would get a thread each time
    context: Context = request.app.state.context
    return context


Ours = Annotated[Context, Depends(_context)]
