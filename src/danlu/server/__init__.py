"""The server process and its REST API.

``__main__``, ``process``: start the process; lock, serve and stop.
``app``, ``routes``: the application and its routes; start reading at ``app``.
``guard``, ``listen``: checks every request; sockets and connections.
``context``: what routes share, long polling, and the idle timer.
``schemas``, ``errors``: bodies as OpenAPI shows them; errors as responses.
"""
