"""The routes of an application, from the application: a new one is seen by every test here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import Route as PlainRoute

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW")


@dataclass(frozen=True)
class Route:
    """``path`` has its parameters in braces; the rest are names of what a request may carry."""

    method: str
    path: str
    in_path: tuple[str, ...] = ()
    in_query: tuple[str, ...] = ()
    in_headers: tuple[str, ...] = ()
    has_body: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def routes_of(app: Any) -> list[Route]:
    """Return every route of every method.

    Raises: TypeError for a kind of route that no test here knows, such as a websocket or a folder
    of files.
    """
    return sorted(_all(app.routes), key=str)


def _all(routes: Any) -> Iterator[Route]:
    for route in routes:
        if (inner := getattr(route, "original_router", None)) is not None:
            yield from _all(inner.routes)
        elif isinstance(route, APIRoute):
            given = route.dependant
            for method in route.methods:
                yield Route(
                    method,
                    route.path,
                    tuple(parameter.alias for parameter in given.path_params),
                    tuple(parameter.alias for parameter in given.query_params),
                    tuple(parameter.alias for parameter in given.header_params),
                    bool(given.body_params) or method in ("PUT", "PATCH"),
                )
        elif isinstance(route, PlainRoute):
            for method in route.methods or ():
                yield Route(method, route.path)
        else:
            raise TypeError(f"No test of security knows what {route!r} is.")
