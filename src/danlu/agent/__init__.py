"""Beside the script: fetches, prepares, starts the child, reports, mirrors, says how it ended.

Start reading at ``life.py``: the whole life of a task is one function there.
"""
