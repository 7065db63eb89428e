"""The task directory: what server, executor, agent and child say to each other.

Start reading at ``api.py`` (what carries it) and ``files.py`` (what is in it).
Specification: docs/design/task-directory.md
"""
