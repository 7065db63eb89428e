"""Installs the packages that the code of a job requests, once for all jobs with the same request.

``install``: the agent's side; puts the environment into the content cache.
``installer``: the process in the sandbox that resolves and installs.
``requirements``: reads requirements files and chooses versions.
``uv``: calls the program uv, and builds its environment.
"""
