"""Requests straight to an application: as from the unix socket, or as from TCP."""

import asyncio

import httpx


class Asker:
    """``local`` is what only the protocol of a real connection can set."""

    def __init__(self, app, *, local):
        async def marked(scope, receive, send):
            await app({**scope, "state": {"local": local}}, receive, send)

        self._transport = httpx.ASGITransport(marked, raise_app_exceptions=False)

    def __call__(self, method, path, **options):
        return asyncio.run(self.ask(method, path, **options))

    async def ask(self, method, path, **options):
        async with httpx.AsyncClient(
            transport=self._transport, base_url="http://127.0.0.1:9420"
        ) as client:
            return await client.request(method, path, **options)
